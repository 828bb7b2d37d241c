. "$(dirname "$0")/../../lib.sh"
ready tomcat
k wait pod/subject --for=condition=Ready=false --timeout=30s; sleep 10

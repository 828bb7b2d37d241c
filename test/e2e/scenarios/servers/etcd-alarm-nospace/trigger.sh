. "$(dirname "$0")/../../lib.sh"
ready
k wait pod/subject --for=condition=Ready=false --timeout=50s; sleep 5

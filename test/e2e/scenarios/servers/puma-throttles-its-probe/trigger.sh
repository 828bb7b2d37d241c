. "$(dirname "$0")/../../lib.sh"
ready subject
k wait pod/subject --for=condition=Ready=false --timeout=60s

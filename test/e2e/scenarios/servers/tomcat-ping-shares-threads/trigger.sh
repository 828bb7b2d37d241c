. "$(dirname "$0")/../../lib.sh"
ready
said "may be stuck"
k wait pod/subject --for=condition=Ready=false --timeout=60s; sleep 8

. "$(dirname "$0")/../../lib.sh"
ready backend
ready
said "no answer within 3000 ms"
k wait pod/subject --for=condition=Ready=false --timeout=60s; sleep 10

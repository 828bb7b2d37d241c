. "$(dirname "$0")/../../lib.sh"
ready gateway
said "Connection refused" gateway
k wait pod/subject --for=condition=Ready=false --timeout=60s; sleep 8

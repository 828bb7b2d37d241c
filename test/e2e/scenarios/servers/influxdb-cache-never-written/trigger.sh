. "$(dirname "$0")/../../lib.sh"
ready
said "cache-max-memory-size exceeded"
k wait pod/subject --for=condition=Ready=false --timeout=60s
sleep 3

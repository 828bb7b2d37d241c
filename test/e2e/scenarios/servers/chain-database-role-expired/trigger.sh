. "$(dirname "$0")/../../lib.sh"
ready db
said "password authentication failed"
k wait pod/subject --for=condition=Ready=false --timeout=60s
sleep 8

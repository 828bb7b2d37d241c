. "$(dirname "$0")/../../lib.sh"
said NackError
k wait pod/subject --for=condition=Ready=false --timeout=60s
sleep 4

. "$(dirname "$0")/../../lib.sh"
ready
said 'is out of range'
k wait pod/subject --for=condition=Ready=false --timeout=60s
sleep 4

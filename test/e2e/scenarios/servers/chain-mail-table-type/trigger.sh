. "$(dirname "$0")/../../lib.sh"
ready mail
said 'outbox is late'
k wait pod/subject --for=condition=Ready=false --timeout=60s
sleep 4

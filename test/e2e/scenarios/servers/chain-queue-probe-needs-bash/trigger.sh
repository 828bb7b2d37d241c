. "$(dirname "$0")/../../lib.sh"
said "Ready to accept connections" queue
said "cannot enqueue"
said "no order was enqueued"
k wait pod/subject --for=condition=Ready=false --timeout=60s
sleep 4

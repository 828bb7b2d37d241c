. "$(dirname "$0")/../../lib.sh"
ready
k exec payments -- touch /tmp/go
said "is prepared" payments
k delete pod payments
said "lock timeout"
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 3

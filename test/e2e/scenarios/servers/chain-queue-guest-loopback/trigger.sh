. "$(dirname "$0")/../../lib.sh"
k wait pod/queue --for=condition=Ready --timeout=150s
said "can only connect via localhost" queue; said "ACCESS_REFUSED"; sleep 8

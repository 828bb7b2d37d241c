. "$(dirname "$0")/../../lib.sh"
ready cart
again redis-leader-0
said "not ready: "; sleep 10

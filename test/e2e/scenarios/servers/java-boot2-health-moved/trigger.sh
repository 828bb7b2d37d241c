. "$(dirname "$0")/../../lib.sh"
again subject; said "Started OrdersApplication"; sleep 6

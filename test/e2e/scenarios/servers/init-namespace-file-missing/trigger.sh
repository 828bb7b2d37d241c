. "$(dirname "$0")/../../lib.sh"
ready orders
said "waiting for orders" subject wait-for-orders; sleep 12

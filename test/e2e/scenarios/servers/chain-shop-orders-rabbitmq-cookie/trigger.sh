. "$(dirname "$0")/../../lib.sh"
again rabbitmq
said "cannot reach the broker" orders
said "orders is not available"; sleep 8

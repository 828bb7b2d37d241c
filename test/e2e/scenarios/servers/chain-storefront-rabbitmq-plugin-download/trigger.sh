. "$(dirname "$0")/../../lib.sh"
ready orders
again rabbitmq
said "orders (http"; sleep 10

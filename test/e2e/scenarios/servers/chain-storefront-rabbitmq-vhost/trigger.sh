. "$(dirname "$0")/../../lib.sh"
ready rabbitmq
ready orders
said "vhost / not found" orders
said "no server available"; sleep 10

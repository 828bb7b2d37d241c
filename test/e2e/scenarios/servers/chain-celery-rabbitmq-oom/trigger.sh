. "$(dirname "$0")/../../lib.sh"
again rabbitmq
said "Cannot connect to amqp"; sleep 10

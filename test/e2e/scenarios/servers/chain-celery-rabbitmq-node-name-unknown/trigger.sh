. "$(dirname "$0")/../../lib.sh"
again rabbitmq-0
said "Cannot connect to amqp"; sleep 3

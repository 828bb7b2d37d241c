. "$(dirname "$0")/../../lib.sh"
said "memory resource limit alarm set" rabbitmq
said "Cannot connect to amqp"
sleep 14

. "$(dirname "$0")/../../lib.sh"
ready dify-redis
said "Cannot connect to amqp://guest"; sleep 30

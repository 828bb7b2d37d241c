. "$(dirname "$0")/../../lib.sh"
ready rabbitmq
said "ACCESS_REFUSED" orders-api
said "readyz" subject; sleep 10

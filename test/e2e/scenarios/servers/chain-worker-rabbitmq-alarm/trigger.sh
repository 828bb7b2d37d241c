. "$(dirname "$0")/../../lib.sh"
said "startup complete" rabbitmq
again subject; sleep 10

. "$(dirname "$0")/../../lib.sh"
ready rabbitmq
again subject
sleep 3

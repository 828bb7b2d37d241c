. "$(dirname "$0")/../../lib.sh"
said "alarm set on node" rabbitmq
again subject
sleep 25

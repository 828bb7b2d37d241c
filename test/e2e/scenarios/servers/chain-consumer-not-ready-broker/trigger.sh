. "$(dirname "$0")/../../lib.sh"
said "resource limit alarm set" rabbitmq
again subject
sleep 40

. "$(dirname "$0")/../../lib.sh"
ready nats-0
again orders
said "not ready"; sleep 6

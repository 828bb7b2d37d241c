. "$(dirname "$0")/../../lib.sh"
ready nats
again orders
said "healthz:"; sleep 4

. "$(dirname "$0")/../../lib.sh"
again nats
said "not ready: NATS" subject; sleep 8

. "$(dirname "$0")/../../lib.sh"
said "is unavailable or misconfigured"
said "Ready to accept connections" redis-store; sleep 12

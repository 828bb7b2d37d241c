. "$(dirname "$0")/../../lib.sh"
said "agent initialization failed"
said "GET /health"; sleep 12

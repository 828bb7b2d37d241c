. "$(dirname "$0")/../../lib.sh"
said "Ready to accept connections" redis-store
again subject
said "Redis Store is required"; sleep 8

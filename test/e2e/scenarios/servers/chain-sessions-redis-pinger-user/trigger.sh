. "$(dirname "$0")/../../lib.sh"
said "Ready to accept connections" session-redis-0
said "sessions are not reachable"; sleep 15

. "$(dirname "$0")/../../lib.sh"
said "Redis Connection failed"; sleep 8

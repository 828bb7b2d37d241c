. "$(dirname "$0")/../../lib.sh"
said "Server running at"; sleep 15

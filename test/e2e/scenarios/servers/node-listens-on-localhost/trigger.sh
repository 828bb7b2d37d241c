. "$(dirname "$0")/../../lib.sh"
said "Server listening"; sleep 15

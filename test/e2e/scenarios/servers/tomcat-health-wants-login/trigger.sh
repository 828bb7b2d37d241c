. "$(dirname "$0")/../../lib.sh"
said "Server startup in"; sleep 18

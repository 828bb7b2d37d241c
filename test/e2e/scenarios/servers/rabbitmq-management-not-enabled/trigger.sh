. "$(dirname "$0")/../../lib.sh"
said "Server startup complete"; sleep 17

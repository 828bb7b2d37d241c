. "$(dirname "$0")/../../lib.sh"
said "ready to accept connections"; sleep 14

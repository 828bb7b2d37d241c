. "$(dirname "$0")/../../lib.sh"
said "ready for connections"; sleep 12

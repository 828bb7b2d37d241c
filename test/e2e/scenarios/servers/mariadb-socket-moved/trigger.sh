. "$(dirname "$0")/../../lib.sh"
again subject
said "ready for connections"; sleep 12

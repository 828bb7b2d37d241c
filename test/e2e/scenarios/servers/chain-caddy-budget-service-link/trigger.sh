. "$(dirname "$0")/../../lib.sh"
again actual
said "connection refused"; sleep 8

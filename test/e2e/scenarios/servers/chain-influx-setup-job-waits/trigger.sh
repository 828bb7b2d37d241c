. "$(dirname "$0")/../../lib.sh"
ready metrics
said "database not found"; sleep 10

. "$(dirname "$0")/../../lib.sh"
again reports
said "GET /ping"; sleep 12

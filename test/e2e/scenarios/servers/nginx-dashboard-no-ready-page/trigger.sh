. "$(dirname "$0")/../../lib.sh"
said "GET /ready"; sleep 10

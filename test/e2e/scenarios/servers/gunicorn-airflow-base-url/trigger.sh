. "$(dirname "$0")/../../lib.sh"
said '"GET /health HTTP/1.1" 404'; sleep 10

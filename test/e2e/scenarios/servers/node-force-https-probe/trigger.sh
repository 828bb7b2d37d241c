. "$(dirname "$0")/../../lib.sh"
said '/api/health HTTP/1.1" 301'; sleep 8

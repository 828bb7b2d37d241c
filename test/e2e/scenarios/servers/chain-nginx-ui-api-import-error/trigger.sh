. "$(dirname "$0")/../../lib.sh"
again api
said "GET / HTTP/1.1"; sleep 12

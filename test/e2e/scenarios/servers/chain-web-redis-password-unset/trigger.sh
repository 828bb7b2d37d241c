. "$(dirname "$0")/../../lib.sh"
ready redis-broker
said "without any password configured" web
said "GET / HTTP/1.1"; sleep 12

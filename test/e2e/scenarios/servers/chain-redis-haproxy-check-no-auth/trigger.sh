. "$(dirname "$0")/../../lib.sh"
ready redis
ready redis-haproxy
said "no server available" redis-haproxy
said "Connection closed by server"; sleep 8

. "$(dirname "$0")/../../lib.sh"
ready redis
ready redis-haproxy
said "has no server available" redis-haproxy
said "ConnectionError"; sleep 8

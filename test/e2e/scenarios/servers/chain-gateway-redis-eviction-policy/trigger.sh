. "$(dirname "$0")/../../lib.sh"
ready redis-master
again statistics-service
said "upstream statistics"; sleep 10

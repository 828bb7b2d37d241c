. "$(dirname "$0")/../../lib.sh"
again redis-master
said "health check failed"; sleep 5

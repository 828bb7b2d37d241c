. "$(dirname "$0")/../../lib.sh"
ready cache-redis-master-0
again subject; sleep 3

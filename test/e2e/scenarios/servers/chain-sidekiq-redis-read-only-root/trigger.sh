. "$(dirname "$0")/../../lib.sh"
again jobs-redis-0
again subject; sleep 3

. "$(dirname "$0")/../../lib.sh"
ready issues-redis
again subject; sleep 3

. "$(dirname "$0")/../../lib.sh"
ready redis
again subject; sleep 2

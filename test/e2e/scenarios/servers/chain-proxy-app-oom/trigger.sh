. "$(dirname "$0")/../../lib.sh"
again shop; sleep 4

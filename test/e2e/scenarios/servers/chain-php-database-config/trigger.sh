. "$(dirname "$0")/../../lib.sh"
again mysql; sleep 4

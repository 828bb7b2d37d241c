. "$(dirname "$0")/../../lib.sh"
again queue; sleep 4

. "$(dirname "$0")/../../lib.sh"
again cart; sleep 4

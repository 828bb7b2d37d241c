. "$(dirname "$0")/../../lib.sh"
again sessions
again subject; sleep 3

. "$(dirname "$0")/../../lib.sh"
ready queue
again subject; sleep 2

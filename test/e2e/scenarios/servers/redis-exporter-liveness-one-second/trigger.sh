. "$(dirname "$0")/../../lib.sh"
ready subject
again subject; sleep 3

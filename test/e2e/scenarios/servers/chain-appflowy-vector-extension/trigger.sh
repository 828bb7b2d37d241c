. "$(dirname "$0")/../../lib.sh"
ready postgres
again subject; sleep 4

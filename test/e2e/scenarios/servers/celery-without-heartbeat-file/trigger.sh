. "$(dirname "$0")/../../lib.sh"
ready broker
again subject; sleep 3

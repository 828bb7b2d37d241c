. "$(dirname "$0")/../../lib.sh"
ready idp
again subject; sleep 3

. "$(dirname "$0")/../../lib.sh"
ready go-demo
again subject; sleep 6

. "$(dirname "$0")/../../lib.sh"
again subject
again katib-mysql; sleep 5

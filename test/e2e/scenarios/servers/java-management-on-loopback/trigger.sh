. "$(dirname "$0")/../../lib.sh"
ready
again subject

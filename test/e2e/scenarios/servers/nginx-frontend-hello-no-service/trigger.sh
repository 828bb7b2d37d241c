. "$(dirname "$0")/../../lib.sh"
ready backend
again subject

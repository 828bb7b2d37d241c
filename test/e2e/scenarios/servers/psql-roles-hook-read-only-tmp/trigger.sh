. "$(dirname "$0")/../../lib.sh"
ready db
again subject

. "$(dirname "$0")/../../lib.sh"
said "unrecognized configuration parameter"
again subject

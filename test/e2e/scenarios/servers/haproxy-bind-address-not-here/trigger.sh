. "$(dirname "$0")/../../lib.sh"
again subject
said "cannot bind socket"

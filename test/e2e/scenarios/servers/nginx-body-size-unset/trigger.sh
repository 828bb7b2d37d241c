. "$(dirname "$0")/../../lib.sh"
said "directive invalid value"
again subject; sleep 3

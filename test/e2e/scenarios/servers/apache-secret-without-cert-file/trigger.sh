. "$(dirname "$0")/../../lib.sh"
said "does not exist or is empty"
again subject; sleep 4

. "$(dirname "$0")/../../lib.sh"
said "ready to handle connections"
again subject; sleep 6

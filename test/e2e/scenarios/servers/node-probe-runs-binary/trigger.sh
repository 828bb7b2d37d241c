. "$(dirname "$0")/../../lib.sh"
said "Listening on"
again subject; sleep 3

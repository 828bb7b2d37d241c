. "$(dirname "$0")/../../lib.sh"
again subject
said "not in the peer list"; sleep 4

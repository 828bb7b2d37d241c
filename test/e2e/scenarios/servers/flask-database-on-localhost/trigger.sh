. "$(dirname "$0")/../../lib.sh"
again subject
said "Connection refused"; sleep 5

. "$(dirname "$0")/../../lib.sh"
again subject
said "loading groups failed"; sleep 4

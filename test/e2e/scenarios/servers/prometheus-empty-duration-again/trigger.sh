. "$(dirname "$0")/../../lib.sh"
again subject
said "empty duration string"; sleep 4

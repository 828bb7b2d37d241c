. "$(dirname "$0")/../../lib.sh"
again subject
said "invalid permissions"; sleep 6

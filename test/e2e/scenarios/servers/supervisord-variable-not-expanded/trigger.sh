. "$(dirname "$0")/../../lib.sh"
again subject
said "cannot be expanded"; sleep 4

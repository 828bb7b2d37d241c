. "$(dirname "$0")/../../lib.sh"
said "Permission denied"
again subject

. "$(dirname "$0")/../../lib.sh"
said "400 Bad Request"; sleep 8

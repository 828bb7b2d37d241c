. "$(dirname "$0")/../../lib.sh"
said "Access denied"; sleep 8

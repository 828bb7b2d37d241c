. "$(dirname "$0")/../../lib.sh"
said "with context path"; sleep 15

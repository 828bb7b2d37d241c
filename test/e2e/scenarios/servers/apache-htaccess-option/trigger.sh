. "$(dirname "$0")/../../lib.sh"
said "not allowed here"; sleep 8

. "$(dirname "$0")/../../lib.sh"
said "ready to receive"; sleep 6

. "$(dirname "$0")/../../lib.sh"
said "listening on"; sleep 8

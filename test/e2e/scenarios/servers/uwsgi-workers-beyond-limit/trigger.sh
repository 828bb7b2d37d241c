. "$(dirname "$0")/../../lib.sh"
said "index: "; sleep 20

. "$(dirname "$0")/../../lib.sh"
said "does not exist"; sleep 12

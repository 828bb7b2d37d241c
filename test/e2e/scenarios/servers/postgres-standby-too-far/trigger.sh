. "$(dirname "$0")/../../lib.sh"
said "has already been removed"; sleep 12

. "$(dirname "$0")/../../lib.sh"
said "below threshold"; sleep 10

. "$(dirname "$0")/../../lib.sh"
said "is not reached"
again distribution-redis; sleep 8

. "$(dirname "$0")/../../lib.sh"
said '"status":401'; sleep 12

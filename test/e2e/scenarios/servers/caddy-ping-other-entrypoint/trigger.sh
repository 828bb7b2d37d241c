. "$(dirname "$0")/../../lib.sh"
said '"status":404'; sleep 12

. "$(dirname "$0")/../../lib.sh"
again orders-api
said '"status":502'; sleep 6

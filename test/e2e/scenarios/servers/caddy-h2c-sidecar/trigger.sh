. "$(dirname "$0")/../../lib.sh"
said '"status":502' subject caddy; sleep 12

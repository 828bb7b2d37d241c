. "$(dirname "$0")/../../lib.sh"
ready prices
said "health check of prices failed"; sleep 6

. "$(dirname "$0")/../../lib.sh"
ready prices
said "Connection refused" shop; sleep 12

. "$(dirname "$0")/../../lib.sh"
again sessions-memcached
said "health: " shop-api
said "health: " subject
sleep 8

. "$(dirname "$0")/../../lib.sh"
said "cart store not reachable" cart
said "has no server available"
sleep 10

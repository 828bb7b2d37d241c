. "$(dirname "$0")/../../lib.sh"
said "4567" emailservice
said "ECONNREFUSED" checkoutservice
said "connection refused"
sleep 10

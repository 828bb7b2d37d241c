. "$(dirname "$0")/../../lib.sh"
said "not ready: http://payments"; said "not ready: http://orders" payments; sleep 6

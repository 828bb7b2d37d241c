. "$(dirname "$0")/../../lib.sh"
ready broker
said "ACCESS_REFUSED"; again subject; sleep 2

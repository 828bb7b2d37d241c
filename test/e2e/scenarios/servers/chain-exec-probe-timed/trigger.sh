. "$(dirname "$0")/../../lib.sh"
said "Started OffersApplication" offers
said '/offers HTTP/1.1" 50' subject; sleep 20

. "$(dirname "$0")/../../lib.sh"
ready payments
said "bank says pending" payments
said "not ready: payments"; sleep 18

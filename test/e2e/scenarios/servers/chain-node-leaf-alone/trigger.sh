. "$(dirname "$0")/../../lib.sh"
ready payments; ready orders
said "unable to verify the first certificate" orders
said "GET http://orders:3000/methods"; sleep 8

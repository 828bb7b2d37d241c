. "$(dirname "$0")/../../lib.sh"
ready frontend
again pos
said "no products from"; sleep 10

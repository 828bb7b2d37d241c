. "$(dirname "$0")/../../lib.sh"
again storefront; sleep 4

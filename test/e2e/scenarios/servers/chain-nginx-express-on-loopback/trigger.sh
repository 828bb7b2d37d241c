. "$(dirname "$0")/../../lib.sh"
ready storefront
said "Storefront listening" storefront
said "Connection refused"; sleep 10

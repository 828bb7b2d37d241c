. "$(dirname "$0")/../../lib.sh"
said "storefront listening"; sleep 12

. "$(dirname "$0")/../../lib.sh"
said "Booting worker" storefront; sleep 8

. "$(dirname "$0")/../../lib.sh"
ready basket-store
said "MISCONF"; sleep 10

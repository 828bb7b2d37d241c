. "$(dirname "$0")/../../lib.sh"
ready ledger-db; said "Connection refused" ledger-api; said "502"; sleep 8

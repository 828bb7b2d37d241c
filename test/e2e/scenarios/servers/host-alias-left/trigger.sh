. "$(dirname "$0")/../../lib.sh"
k wait pod/ledger-db --for=condition=Ready --timeout=60s
said "database check failed"; sleep 12

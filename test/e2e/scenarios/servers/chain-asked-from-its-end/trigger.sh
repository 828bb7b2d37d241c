. "$(dirname "$0")/../../lib.sh"
again db; said "Booting worker" stock; k wait pod/stock --for=condition=Ready=false --timeout=90s; sleep 5

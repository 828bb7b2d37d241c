. "$(dirname "$0")/../../lib.sh"
ready postgres
ready pgbouncer
again subject; said "no such database"; sleep 5

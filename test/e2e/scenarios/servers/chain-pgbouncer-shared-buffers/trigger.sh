. "$(dirname "$0")/../../lib.sh"
ready pgbouncer
again postgres
said "database check failed"; sleep 8

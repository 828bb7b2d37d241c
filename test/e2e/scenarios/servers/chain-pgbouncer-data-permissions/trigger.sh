. "$(dirname "$0")/../../lib.sh"
ready pgbouncer
again postgres
said "database:"; sleep 8

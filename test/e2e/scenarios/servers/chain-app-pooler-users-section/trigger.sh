. "$(dirname "$0")/../../lib.sh"
ready postgres
ready pgbouncer
said "password authentication failed"; sleep 8

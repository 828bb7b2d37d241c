. "$(dirname "$0")/../../lib.sh"
ready db
ready pooler
said "server refused SSL" pooler; said "database check failed"; sleep 6

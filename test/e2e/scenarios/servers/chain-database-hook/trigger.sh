. "$(dirname "$0")/../../lib.sh"
said "Booting worker"; again db
said "database check failed"; sleep 6

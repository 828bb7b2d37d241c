. "$(dirname "$0")/../../lib.sh"
said "Booting worker"; again db; sleep 10

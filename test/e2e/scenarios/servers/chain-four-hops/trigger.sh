. "$(dirname "$0")/../../lib.sh"
again db; said "Booting worker" shop; said "Booting worker" stock; sleep 5

. "$(dirname "$0")/../../lib.sh"
said "Booting worker" shop; again cache; sleep 5

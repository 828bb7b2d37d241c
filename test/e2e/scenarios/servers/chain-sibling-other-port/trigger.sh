. "$(dirname "$0")/../../lib.sh"
said "Booting worker" subject app; sleep 4

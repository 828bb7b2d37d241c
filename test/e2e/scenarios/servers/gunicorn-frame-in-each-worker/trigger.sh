. "$(dirname "$0")/../../lib.sh"
said "Booting worker"; sleep 35

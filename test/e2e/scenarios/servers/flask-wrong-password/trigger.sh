. "$(dirname "$0")/../../lib.sh"
ready db; said "Booting worker"; sleep 8

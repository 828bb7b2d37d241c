. "$(dirname "$0")/../../lib.sh"
said "waiting for checkpoint" subject clone
sleep 20

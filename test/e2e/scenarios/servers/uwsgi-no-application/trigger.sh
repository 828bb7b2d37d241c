. "$(dirname "$0")/../../lib.sh"
said "no app loaded"; sleep 3

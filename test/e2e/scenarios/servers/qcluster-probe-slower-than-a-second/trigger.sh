. "$(dirname "$0")/../../lib.sh"
said "rsr running"; sleep 25

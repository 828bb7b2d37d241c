. "$(dirname "$0")/../../lib.sh"
ready db
said "scheduler does not appear to be running"; sleep 8

. "$(dirname "$0")/../../lib.sh"
again db
again subject
said "no app loaded"; sleep 6

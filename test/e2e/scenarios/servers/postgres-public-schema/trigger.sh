. "$(dirname "$0")/../../lib.sh"
ready db
said "permission denied" subject migrate; sleep 8

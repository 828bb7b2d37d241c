. "$(dirname "$0")/../../lib.sh"
said "ready to handle" subject php; sleep 6

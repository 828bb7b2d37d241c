. "$(dirname "$0")/../../lib.sh"
said "database is locked" subject web; sleep 6

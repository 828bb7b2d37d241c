. "$(dirname "$0")/../../lib.sh"
said "DB_HOST is not set" subject php; sleep 5

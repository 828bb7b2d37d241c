. "$(dirname "$0")/../../lib.sh"
said "waiting for db" subject wait-for-db; sleep 5

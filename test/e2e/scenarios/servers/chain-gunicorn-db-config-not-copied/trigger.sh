. "$(dirname "$0")/../../lib.sh"
again db; said "waiting for db" subject wait-for-db; sleep 5

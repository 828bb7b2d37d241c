. "$(dirname "$0")/../../lib.sh"
said "has no server available"
said "unknown variable" mariadb-0
again mariadb-0; sleep 5

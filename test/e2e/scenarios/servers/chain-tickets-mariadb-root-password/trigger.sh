. "$(dirname "$0")/../../lib.sh"
said "ready for connections" tickets-mariadb-0
again subject; sleep 15

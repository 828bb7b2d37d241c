. "$(dirname "$0")/../../lib.sh"
said "ready for connections" subject mariadb
said "through socket" subject stats
again subject; sleep 3

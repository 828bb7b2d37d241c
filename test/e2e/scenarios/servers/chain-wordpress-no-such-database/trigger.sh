. "$(dirname "$0")/../../lib.sh"
ready wordpress-mysql
said "Unknown database" subject nginx; sleep 12

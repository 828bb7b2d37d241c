. "$(dirname "$0")/../../lib.sh"
again wordpress-mysql
said "MySQL Connection Error" subject nginx; sleep 10

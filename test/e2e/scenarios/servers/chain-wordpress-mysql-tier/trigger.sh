. "$(dirname "$0")/../../lib.sh"
ready wordpress-mysql
ready wordpress
said "MySQL Connection Error" wordpress; sleep 10

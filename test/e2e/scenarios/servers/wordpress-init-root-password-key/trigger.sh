. "$(dirname "$0")/../../lib.sh"
ready wordpress-mariadb-0
sleep 10

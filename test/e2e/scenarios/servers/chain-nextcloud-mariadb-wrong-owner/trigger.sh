. "$(dirname "$0")/../../lib.sh"
again nextcloud-mariadb
said "Failed to connect to the database" subject nextcloud-nginx; sleep 15

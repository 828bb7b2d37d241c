. "$(dirname "$0")/../../lib.sh"
again mariadb
said "Failed to connect to the database" subject nextcloud-nginx; sleep 6

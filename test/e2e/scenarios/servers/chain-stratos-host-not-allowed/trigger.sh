. "$(dirname "$0")/../../lib.sh"
ready stratos-mariadb
said "is not allowed to connect"; sleep 10

. "$(dirname "$0")/../../lib.sh"
again mariadb
again subject; sleep 4

. "$(dirname "$0")/../../lib.sh"
ready php
again mariadb
said "GET /status.php"
sleep 10

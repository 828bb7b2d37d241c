. "$(dirname "$0")/../../lib.sh"
said "ready to handle connections" subject wordpress
said "GET /wp-login.php" subject apache
again subject; sleep 4

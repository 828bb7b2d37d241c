. "$(dirname "$0")/../../lib.sh"
said "GET /wp-login.php" subject wordpress
again subject

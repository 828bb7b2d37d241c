. "$(dirname "$0")/../../lib.sh"
ready drupal-fpm
said "Connection refused"; sleep 12

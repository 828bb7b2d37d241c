. "$(dirname "$0")/../../lib.sh"
ready subject
k exec subject -c php -- sh -c 'echo "<?php \$upgrading = $(date +%s); ?>" >/var/www/html/.maintenance'
again subject

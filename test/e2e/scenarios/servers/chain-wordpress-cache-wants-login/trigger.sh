. "$(dirname "$0")/../../lib.sh"
ready wordpress-memcached
said "unauthenticated" subject nginx; sleep 12

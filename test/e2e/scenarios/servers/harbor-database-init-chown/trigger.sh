. "$(dirname "$0")/../../lib.sh"
said "not permitted" subject change-permission-of-directory; sleep 8

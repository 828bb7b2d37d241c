. "$(dirname "$0")/../../lib.sh"
said "not rendered yet" subject haproxy
again subject; sleep 3

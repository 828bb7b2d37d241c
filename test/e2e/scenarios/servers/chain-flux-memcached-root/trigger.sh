. "$(dirname "$0")/../../lib.sh"
again memcached
said "fetching image metadata"; sleep 8

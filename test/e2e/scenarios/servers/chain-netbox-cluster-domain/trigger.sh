. "$(dirname "$0")/../../lib.sh"
ready netbox-redis-master-0
again subject; sleep 3

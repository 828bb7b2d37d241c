. "$(dirname "$0")/../../lib.sh"
ready shop
said "no upstreams available"; sleep 6

. "$(dirname "$0")/../../lib.sh"
ready shop-fpm
said "upstream timed out"; sleep 10

. "$(dirname "$0")/../../lib.sh"
ready shop-web
again shop-fpm
said "shop at"; sleep 10

. "$(dirname "$0")/../../lib.sh"
said "Trusted domain error" subject nextcloud-nginx; sleep 15

. "$(dirname "$0")/../../lib.sh"
said "Initializing nextcloud"
again subject; sleep 3

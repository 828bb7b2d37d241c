. "$(dirname "$0")/../../lib.sh"
again nextcloud
again subject; sleep 12

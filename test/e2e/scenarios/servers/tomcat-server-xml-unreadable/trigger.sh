. "$(dirname "$0")/../../lib.sh"
said "Unable to load server configuration"
again subject; sleep 8

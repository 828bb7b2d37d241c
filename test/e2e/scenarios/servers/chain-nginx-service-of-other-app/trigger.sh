. "$(dirname "$0")/../../lib.sh"
ready discovery-server
ready gateway-server
said "Connection refused"; sleep 12

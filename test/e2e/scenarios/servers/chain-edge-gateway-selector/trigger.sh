. "$(dirname "$0")/../../lib.sh"
ready discovery-server
ready gateway-server
said "connection refused"; sleep 10

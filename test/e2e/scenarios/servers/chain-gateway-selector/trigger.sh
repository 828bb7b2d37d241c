. "$(dirname "$0")/../../lib.sh"
ready discovery-server
ready gateway-server
said "while connecting to upstream"; sleep 10

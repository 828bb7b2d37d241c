. "$(dirname "$0")/../../lib.sh"
said "/api/ready"; sleep 12

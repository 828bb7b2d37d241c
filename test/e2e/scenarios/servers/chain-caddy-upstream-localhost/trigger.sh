. "$(dirname "$0")/../../lib.sh"
ready tools
said ":5004"; sleep 12

. "$(dirname "$0")/../../lib.sh"
said running
sleep 20

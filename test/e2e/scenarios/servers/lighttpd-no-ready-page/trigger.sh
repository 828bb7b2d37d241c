. "$(dirname "$0")/../../lib.sh"
said "server started"
sleep 10

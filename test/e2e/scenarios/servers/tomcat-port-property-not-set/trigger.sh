. "$(dirname "$0")/../../lib.sh"
said "Server startup"
sleep 15

. "$(dirname "$0")/../../lib.sh"
said "Server is ready"
sleep 15

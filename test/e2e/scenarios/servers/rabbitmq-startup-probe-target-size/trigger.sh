. "$(dirname "$0")/../../lib.sh"
again subject
said "Server startup complete"
sleep 5

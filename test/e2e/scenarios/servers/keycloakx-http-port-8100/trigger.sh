. "$(dirname "$0")/../../lib.sh"
said "Listening on"
sleep 30

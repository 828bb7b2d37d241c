. "$(dirname "$0")/../../lib.sh"
said "Started scheduler" scheduler
said "has no server available"
sleep 10

. "$(dirname "$0")/../../lib.sh"
said "Startup completed"
sleep 12

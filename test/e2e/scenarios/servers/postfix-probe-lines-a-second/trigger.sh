. "$(dirname "$0")/../../lib.sh"
said "daemon started"
sleep 14

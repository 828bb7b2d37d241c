. "$(dirname "$0")/../../lib.sh"
said "no servers available"
sleep 10

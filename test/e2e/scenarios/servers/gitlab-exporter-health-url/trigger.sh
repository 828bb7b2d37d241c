. "$(dirname "$0")/../../lib.sh"
said "gitlab not reachable"
sleep 15

. "$(dirname "$0")/../../lib.sh"
said "Server is ready"
said "has not established contact with a meta leader"
sleep 15

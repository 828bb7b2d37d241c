. "$(dirname "$0")/../../lib.sh"
said "reason=idle" tools
said "tool gateway"
sleep 14

. "$(dirname "$0")/../../lib.sh"
said "slapd starting"
sleep 14

. "$(dirname "$0")/../../lib.sh"
said "Access denied" php; sleep 6

. "$(dirname "$0")/../../lib.sh"
said "Permission denied" subject init; sleep 6

. "$(dirname "$0")/../../lib.sh"
said listening basket; sleep 8

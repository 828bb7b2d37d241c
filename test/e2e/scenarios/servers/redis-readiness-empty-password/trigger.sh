. "$(dirname "$0")/../../lib.sh"
said "Ready to accept connections"; sleep 18

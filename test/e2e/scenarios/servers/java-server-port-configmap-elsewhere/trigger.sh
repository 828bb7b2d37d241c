. "$(dirname "$0")/../../lib.sh"
said "Server started on port"; sleep 12

. "$(dirname "$0")/../../lib.sh"
said "Listening at"; sleep 3

. "$(dirname "$0")/../../lib.sh"
said "Redirected to"; sleep 12

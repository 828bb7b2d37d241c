. "$(dirname "$0")/../../lib.sh"
said "too many clients"; sleep 5

. "$(dirname "$0")/../../lib.sh"
said "invalid byte sequence"; sleep 5

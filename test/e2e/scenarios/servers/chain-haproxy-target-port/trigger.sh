. "$(dirname "$0")/../../lib.sh"
ready default-http-backend
said "is DOWN"; sleep 10

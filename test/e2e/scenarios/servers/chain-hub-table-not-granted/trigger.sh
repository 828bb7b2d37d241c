. "$(dirname "$0")/../../lib.sh"
ready ichub-backend
said "permission denied for table" ichub-backend
said "answered 500"; sleep 10

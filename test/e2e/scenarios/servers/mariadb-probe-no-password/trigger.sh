. "$(dirname "$0")/../../lib.sh"
said "Access denied for user 'root'"; sleep 15

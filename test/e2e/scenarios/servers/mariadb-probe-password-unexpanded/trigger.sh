. "$(dirname "$0")/../../lib.sh"
said "ready for connections"
said "Access denied for user"
again subject

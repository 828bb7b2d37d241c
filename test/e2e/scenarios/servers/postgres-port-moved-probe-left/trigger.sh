. "$(dirname "$0")/../../lib.sh"
said "database system is ready to accept connections"
again subject
said "ready to accept connections"; sleep 3

. "$(dirname "$0")/../../lib.sh"
again pooler
said "database is not available"
ready db
sleep 5

. "$(dirname "$0")/../../lib.sh"
ready hippo
ready hippo-pooler
said "permission denied for database" hippo database
said "database foo_db_1 at"; sleep 8

. "$(dirname "$0")/../../lib.sh"
ready catalog-postgresql
said "migrations are not applied" subject check-db; sleep 20

. "$(dirname "$0")/../../lib.sh"
ready
k exec accounts-db -- /usr/lib/postgresql/15/bin/psql -c 'alter system set default_transaction_read_only = on' -c 'select pg_reload_conf()'
k wait pod/subject --for=condition=Ready=false --timeout=90s

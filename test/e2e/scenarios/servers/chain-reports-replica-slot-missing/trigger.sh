. "$(dirname "$0")/../../lib.sh"
ready postgres-0
said 'replication slot "replica_0" does not exist' postgres-1 postgres
said "connection to server"; sleep 10

. "$(dirname "$0")/../../lib.sh"
ready redis-2
said "MASTER aborted replication"; sleep 12

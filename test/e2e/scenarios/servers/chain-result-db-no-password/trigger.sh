. "$(dirname "$0")/../../lib.sh"
again postgres-pod
said "Waiting for db"; sleep 10

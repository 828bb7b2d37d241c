. "$(dirname "$0")/../../lib.sh"
ready balancer-postgres-1
again subject; sleep 5

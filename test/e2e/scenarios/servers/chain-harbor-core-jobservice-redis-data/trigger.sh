. "$(dirname "$0")/../../lib.sh"
again harbor-redis-0
again harbor-jobservice
said "failed to check health of jobservice"
sleep 15

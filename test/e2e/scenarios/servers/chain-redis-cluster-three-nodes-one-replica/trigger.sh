. "$(dirname "$0")/../../lib.sh"
said "Invalid configuration for cluster creation" job/cache-redis-cluster-cluster-create; sleep 15

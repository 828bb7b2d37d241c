. "$(dirname "$0")/../../lib.sh"
said "Cannot connect to redis"
again redis
sleep 12

. "$(dirname "$0")/../../lib.sh"
ready redis-example-0
said "redis: connect"; sleep 15

. "$(dirname "$0")/../../lib.sh"
said "redis redis:6379"
again redis; sleep 8

. "$(dirname "$0")/../../lib.sh"
ready clearml-redis-master-0
said "waiting for redis" subject init-apiserver
sleep 15

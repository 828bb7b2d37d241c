. "$(dirname "$0")/../../lib.sh"
ready redis-0
ready redis-1
ready
k exec redis-1 -- redis-cli replicaof no one
k exec redis-0 -- redis-cli replicaof redis-1.redis-headless 6379
said "READONLY"
k wait pod/subject --for=condition=Ready=false --timeout=60s; sleep 6

. "$(dirname "$0")/../../lib.sh"
k rollout status statefulset/cache --timeout=220s
ready
k scale statefulset cache --replicas=1
k wait pod/subject --for=condition=Ready=false --timeout=150s
said "cache-1.cache" reports; sleep 3

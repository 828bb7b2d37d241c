. "$(dirname "$0")/../../lib.sh"
k rollout status statefulset/standby --timeout=150s
ready
k scale statefulset standby --replicas=0
k wait pod/subject --for=condition=Ready=false --timeout=120s
sleep 3

. "$(dirname "$0")/../../lib.sh"
k rollout status statefulset/zookeeper --timeout=60s
ready
k delete pod zookeeper-0
said "seen zxid" zookeeper-0
k wait pod/zookeeper-0 --for=condition=Ready --timeout=60s
k wait pod/subject --for=condition=Ready=false --timeout=60s
sleep 4

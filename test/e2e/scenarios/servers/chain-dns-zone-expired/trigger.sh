. "$(dirname "$0")/../../lib.sh"
k rollout status deployment/ns1 --timeout=60s
ready
k scale deployment/ns1 --replicas=0
said "shop.internal/IN: expired"
k wait pod/subject --for=condition=Ready=false --timeout=60s
sleep 3

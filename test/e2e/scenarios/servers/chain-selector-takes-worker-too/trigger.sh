. "$(dirname "$0")/../../lib.sh"
ready orders
k rollout status deployment/orders-worker --timeout=120s
said "Connection refused"
k wait pod/subject --for=condition=Ready=false --timeout=120s
sleep 5

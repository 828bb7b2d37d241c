. "$(dirname "$0")/../../lib.sh"
k rollout status statefulset/cache --timeout=90s
said "carts: " shop
k wait pod/subject --for=condition=Ready=false --timeout=60s
sleep 6

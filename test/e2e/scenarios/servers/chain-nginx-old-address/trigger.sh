. "$(dirname "$0")/../../lib.sh"
ready
k rollout restart deployment/cart
k rollout status deployment/cart --timeout=120s
k wait pod/subject --for=condition=Ready=false --timeout=120s
said "No route to host"; sleep 3

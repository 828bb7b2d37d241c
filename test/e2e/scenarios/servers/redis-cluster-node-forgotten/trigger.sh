. "$(dirname "$0")/../../lib.sh"
for pod in redis-0 redis-1 subject; do said "Ready to accept connections" "$pod"; done
nodes=""
for pod in redis-0 redis-1 subject; do nodes="$nodes $(k get pod "$pod" -o jsonpath='{.status.podIP}'):6379"; done
# shellcheck disable=SC2086
k exec redis-0 -- redis-cli --cluster create $nodes --cluster-yes
ready; ready redis-0; ready redis-1
k exec subject -- redis-cli shutdown nosave || true
again subject
k wait pod/subject --for=condition=Ready=false --timeout=60s; sleep 15

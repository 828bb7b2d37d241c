. "$(dirname "$0")/../lib.sh"
# What the API server knows of a node whose machine died: a pod that was well, and a
# node that nobody speaks for.
now=$(date -u +%FT%TZ)
kubectl patch node ghost --subresource=status -p '{"status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady","message":"it was well","lastHeartbeatTime":"'$now'","lastTransitionTime":"'$now'"}]}}'
k patch pod subject --subresource=status -p '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"},{"type":"ContainersReady","status":"True"}]}}'
until_true sh -c 'kubectl get node ghost -o jsonpath="{.status.conditions[?(@.type==\"Ready\")].status}" | grep -q Unknown'

. "$(dirname "$0")/../../lib.sh"
k rollout status deployment/cart --timeout=220s
ready
k patch deployment cart -p '{"spec":{"template":{"spec":{"containers":[{"name":"cart","env":[{"name":"RELEASE","value":"42"}],"readinessProbe":{"httpGet":{"path":"/health/ready"}}}]}}}}'
k wait pod/subject --for=condition=Ready=false --timeout=90s
until k logs -l app=cart --tail=50 2>/dev/null | grep -q "/health/ready"; do sleep 1; done
sleep 5

. "$(dirname "$0")/../../lib.sh"
ready
value=$(head -c 60000 /dev/zero | base64 -w0)
ip=$(k get pod subject -o jsonpath='{.status.podIP}')
for i in $(seq 30); do
  printf '{"key":"%s","value":"%s"}' "$(printf k$i | base64)" "$value" | curl -s --max-time 5 -o /dev/null -d @- "http://$ip:2379/v3/kv/put" || true
done
k wait pod/subject --for=condition=Ready=false --timeout=90s

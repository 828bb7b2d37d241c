. "$(dirname "$0")/../lib.sh"
ready
ip=$(k get pod subject -o jsonpath='{.status.podIP}')
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
for client in 1 2 3 4; do
  while :; do curl -s -o /dev/null --max-time 5 "http://$ip:8082/eat" || true; sleep 0.05; done &
done
while [ "$(restarts)" -lt 1 ]; do sleep 1; done

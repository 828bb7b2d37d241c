. "$(dirname "$0")/../../lib.sh"
ready
ip=$(k get pod subject -o jsonpath='{.status.podIP}')
curl -s -o /dev/null --max-time 2 "http://$ip:8000/report" || true
k wait pod/subject --for=condition=Ready=false --timeout=60s

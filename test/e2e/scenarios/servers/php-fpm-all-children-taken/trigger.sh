. "$(dirname "$0")/../../lib.sh"
ready
ip=$(k get pod subject -o jsonpath='{.status.podIP}')
curl -s -o /dev/null --max-time 3 "http://$ip:8080/export.php" || true
k wait pod/subject --for=condition=Ready=false --timeout=60s

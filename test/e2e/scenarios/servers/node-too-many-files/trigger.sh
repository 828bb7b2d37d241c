. "$(dirname "$0")/../../lib.sh"
ready
ip=$(k get pod subject -o jsonpath='{.status.podIP}')
for i in $(seq 60); do curl -s -o /dev/null --max-time 2 "http://$ip:3000/" || true; done
k wait pod/subject --for=condition=Ready=false --timeout=90s

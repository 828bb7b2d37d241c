. "$(dirname "$0")/../../lib.sh"
ready
ip=$(k get pod rates -o jsonpath='{.status.podIP}')
curl -s -o /dev/null --max-time 2 "http://$ip:3000/rebuild" || true
k wait pod/subject --for=condition=Ready=false --timeout=90s

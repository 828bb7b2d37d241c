. "$(dirname "$0")/../../lib.sh"
ready prices; ready gateway; ready
ip=$(k get pod prices -o jsonpath='{.status.podIP}')
curl -s --max-time 5 -o /dev/null "http://$ip:8080/export" || true
said "OutOfMemoryError" prices
k wait pod/subject --for=condition=Ready=false --timeout=45s
sleep 5

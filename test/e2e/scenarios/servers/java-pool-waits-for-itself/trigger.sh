. "$(dirname "$0")/../../lib.sh"
ready
ip=$(k get pod subject -o jsonpath='{.status.podIP}')
until_true curl -s --max-time 5 -o /dev/null "http://$ip:8080/month-end"
said "RejectedExecutionException"
k wait pod/subject --for=condition=Ready=false --timeout=60s
sleep 6

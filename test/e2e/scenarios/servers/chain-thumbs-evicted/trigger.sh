. "$(dirname "$0")/../../lib.sh"
ready
k wait pod/render --for=jsonpath='{.status.reason}'=Evicted --timeout=240s
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 3

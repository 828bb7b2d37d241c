. "$(dirname "$0")/../../lib.sh"
ready
k wait pod/subject --for=jsonpath='{.status.reason}'=Evicted --timeout=200s

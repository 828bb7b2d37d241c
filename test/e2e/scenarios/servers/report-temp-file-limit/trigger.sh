. "$(dirname "$0")/../../lib.sh"
ready db
k wait pod/subject --for=jsonpath='{.status.phase}'=Failed --timeout=90s
sleep 2

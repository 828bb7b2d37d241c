. "$(dirname "$0")/../../lib.sh"
k wait pod/subject --for=jsonpath='{.status.phase}'=Failed --timeout=90s

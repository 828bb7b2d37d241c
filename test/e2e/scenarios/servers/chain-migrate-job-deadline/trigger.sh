. "$(dirname "$0")/../../lib.sh"
ready db
k wait job/migrate --for=condition=Failed --timeout=90s; sleep 5

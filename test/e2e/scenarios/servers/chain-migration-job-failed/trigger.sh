. "$(dirname "$0")/../../lib.sh"
k wait job/migrate --for=condition=Failed --timeout=110s
sleep 4

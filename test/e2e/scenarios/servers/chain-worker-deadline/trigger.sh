. "$(dirname "$0")/../../lib.sh"
k wait pod/subject --for=condition=Ready --timeout=45s || true
k wait job/thumbs-worker --for=condition=Failed --timeout=80s
k wait pod/subject --for=condition=Ready=false --timeout=40s; sleep 3

. "$(dirname "$0")/../../lib.sh"
k wait pod/portal --for=condition=Ready --timeout=90s; sleep 6

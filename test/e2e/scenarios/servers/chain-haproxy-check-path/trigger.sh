. "$(dirname "$0")/../../lib.sh"
k wait pod/catalog --for=condition=Ready --timeout=90s; said DOWN; sleep 4

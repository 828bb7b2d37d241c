. "$(dirname "$0")/../../lib.sh"
ready
k exec cache -- sh -c 'redis-benchmark -t set -n 30000 -r 1000000 -d 300 -q >/dev/null 2>&1 || true'
k wait pod/subject --for=condition=Ready=false --timeout=90s

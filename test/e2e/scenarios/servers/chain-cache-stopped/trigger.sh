. "$(dirname "$0")/../../lib.sh"
ready
kill -STOP $(host_pids redis-server cache)
k wait pod/subject --for=condition=Ready=false --timeout=90s

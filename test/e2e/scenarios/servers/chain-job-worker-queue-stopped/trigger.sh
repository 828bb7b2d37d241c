. "$(dirname "$0")/../../lib.sh"
ready
until_true running_for 12
kill -STOP $(host_pids redis-server queue)
while [ "$(restarts)" -lt 1 ]; do sleep 1; done

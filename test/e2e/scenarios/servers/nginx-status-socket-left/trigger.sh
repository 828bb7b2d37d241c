. "$(dirname "$0")/../../lib.sh"
ready subject
kill -9 $(host_pids nginx)
while [ "$(restarts)" -lt 2 ]; do sleep 1; done
sleep 4

. "$(dirname "$0")/../../lib.sh"
ready
for p in $(host_pids node); do kill -KILL "$p"; done
while [ "$(restarts)" -lt 2 ]; do sleep 1; done
sleep 3

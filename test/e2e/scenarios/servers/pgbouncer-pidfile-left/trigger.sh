. "$(dirname "$0")/../../lib.sh"
ready; sleep 2
kill -9 $(host_pids pgbouncer)
said "another instance running"
while [ "$(restarts)" -lt 2 ]; do sleep 1; done; sleep 3

. "$(dirname "$0")/../../lib.sh"
ready subject; sleep 2
kill -KILL $(host_pids squid)
said "already running"
again subject; sleep 5

. "$(dirname "$0")/../../lib.sh"
ready; sleep 2
kill -9 $(host_pids squid)
said "already running"
again subject; sleep 5

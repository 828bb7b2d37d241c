. "$(dirname "$0")/../lib.sh"
ready
kill -9 $(host_pids pause)

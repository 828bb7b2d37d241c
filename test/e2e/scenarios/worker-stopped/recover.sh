. "$(dirname "$0")/../lib.sh"
kill -CONT $(host_pids perl)
ready

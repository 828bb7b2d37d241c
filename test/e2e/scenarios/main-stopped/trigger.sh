. "$(dirname "$0")/../lib.sh"
ready
kill -STOP $(host_pids httpd)

. "$(dirname "$0")/../lib.sh"
join_mesh
ready
kill -STOP $(host_pids whylet)

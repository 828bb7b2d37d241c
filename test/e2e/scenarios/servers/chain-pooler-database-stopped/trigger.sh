. "$(dirname "$0")/../../lib.sh"
ready
for p in $(host_pids postgres db); do kill -STOP "$p"; done
k wait pod/subject --for=condition=Ready=false --timeout=90s

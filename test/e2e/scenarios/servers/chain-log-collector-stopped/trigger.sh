. "$(dirname "$0")/../../lib.sh"
ready
for p in $(host_pids python3 collector); do kill -STOP "$p"; done
k wait pod/subject --for=condition=Ready=false --timeout=120s
sleep 3

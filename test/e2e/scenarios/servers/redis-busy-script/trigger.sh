. "$(dirname "$0")/../../lib.sh"
ready
timeout 5 nsenter --net="/proc/$(host_pids redis-server | head -1)/ns/net" bash -c 'exec 3<>/dev/tcp/127.0.0.1/6379; printf "EVAL \"while true do end\" 0\r\n" >&3; sleep 3' || true
k wait pod/subject --for=condition=Ready=false --timeout=60s

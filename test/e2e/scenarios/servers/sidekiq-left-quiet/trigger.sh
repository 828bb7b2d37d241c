. "$(dirname "$0")/../../lib.sh"
ready
k exec subject -c worker -- busybox kill -TSTP 1
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 3

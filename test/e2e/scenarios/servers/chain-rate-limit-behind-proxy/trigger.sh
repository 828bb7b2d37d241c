. "$(dirname "$0")/../../lib.sh"
k wait pod/prices pod/proxy --for=condition=Ready --timeout=120s
ready
k wait pod/subject --for=condition=Ready=false --timeout=120s
sleep 6

. "$(dirname "$0")/../../lib.sh"
ready
said "No space left on device" mysql
k wait pod/subject --for=condition=Ready=false --timeout=120s
sleep 5

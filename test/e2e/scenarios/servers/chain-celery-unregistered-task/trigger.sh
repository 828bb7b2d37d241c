. "$(dirname "$0")/../../lib.sh"
said "unregistered task" worker
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 4

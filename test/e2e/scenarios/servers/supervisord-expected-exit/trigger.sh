. "$(dirname "$0")/../../lib.sh"
k wait pod/subject --for=condition=Ready --timeout=35s
said "exit status 0; expected"
k wait pod/subject --for=condition=Ready=false --timeout=40s
sleep 3

. "$(dirname "$0")/../../lib.sh"
said "Too many open connections"
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 3

. "$(dirname "$0")/../../lib.sh"
said "wraparound"
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 5

. "$(dirname "$0")/../../lib.sh"
ready
said "MISCONF"
k wait pod/subject --for=condition=Ready=false --timeout=30s; sleep 6

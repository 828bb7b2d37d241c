. "$(dirname "$0")/../../lib.sh"
ready
said "too many clients already"
k wait pod/subject --for=condition=Ready=false --timeout=30s; sleep 6

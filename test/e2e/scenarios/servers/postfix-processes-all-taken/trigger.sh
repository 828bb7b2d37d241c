. "$(dirname "$0")/../../lib.sh"
ready
said "reached its process limit"
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 3

. "$(dirname "$0")/../../lib.sh"
ready cache
said "cache:"
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 4

. "$(dirname "$0")/../../lib.sh"
ready
k wait pod/subject --for=condition=Ready=false --timeout=180s
sleep 4

. "$(dirname "$0")/../../lib.sh"
ready; said "Pause Full"
k wait pod/subject --for=condition=Ready=false --timeout=70s
sleep 5

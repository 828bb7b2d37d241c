. "$(dirname "$0")/../../lib.sh"
ready
said "reading feed 4"
k wait pod/subject --for=condition=Ready=false --timeout=120s

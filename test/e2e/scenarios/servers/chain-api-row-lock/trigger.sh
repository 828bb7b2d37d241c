. "$(dirname "$0")/../../lib.sh"
ready
k exec migrate -- touch /tmp/go
said back-filling migrate
k wait pod/subject --for=condition=Ready=false --timeout=90s

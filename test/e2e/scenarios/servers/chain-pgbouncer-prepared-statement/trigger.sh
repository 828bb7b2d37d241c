. "$(dirname "$0")/../../lib.sh"
said "already exists"
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 6

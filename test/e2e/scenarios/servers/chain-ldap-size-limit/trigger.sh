. "$(dirname "$0")/../../lib.sh"
said "Size limit exceeded"
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 4

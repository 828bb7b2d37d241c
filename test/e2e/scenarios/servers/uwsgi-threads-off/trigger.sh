. "$(dirname "$0")/../../lib.sh"
said "waiting for prices"
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 12

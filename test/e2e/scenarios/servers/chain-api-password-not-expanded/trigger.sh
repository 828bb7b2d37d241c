. "$(dirname "$0")/../../lib.sh"
said "password authentication failed" feedback-api api
again feedback-api
k wait pod/subject --for=condition=Ready=false --timeout=15s
sleep 6

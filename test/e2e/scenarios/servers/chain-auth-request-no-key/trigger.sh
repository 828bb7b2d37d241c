. "$(dirname "$0")/../../lib.sh"
ready shop
said 'auth request unexpected status'
k wait pod/subject --for=condition=Ready=false --timeout=60s
sleep 4

. "$(dirname "$0")/../../lib.sh"
ready
said count reports
k delete pod db-0 --wait=false
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 4

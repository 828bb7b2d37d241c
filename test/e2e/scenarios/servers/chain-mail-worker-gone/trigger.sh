. "$(dirname "$0")/../../lib.sh"
until k get pods -l app=mailer -o jsonpath='{.items[*].status.containerStatuses[*].restartCount}' | grep -q '[1-9]'; do sleep 1; done
said "jobs wait, the oldest"
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 4

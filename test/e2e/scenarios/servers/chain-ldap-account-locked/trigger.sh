. "$(dirname "$0")/../../lib.sh"
ready
ready sync
k exec sync -- touch /tmp/night
said "cannot bind"
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 4

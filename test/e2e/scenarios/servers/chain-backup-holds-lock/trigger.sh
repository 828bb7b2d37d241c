. "$(dirname "$0")/../../lib.sh"
ready
k exec backup -- touch /tmp/go
said "tables are locked" backup
k wait pod/subject --for=condition=Ready=false --timeout=120s
sleep 3

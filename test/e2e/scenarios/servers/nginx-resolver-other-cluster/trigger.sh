. "$(dirname "$0")/../../lib.sh"
ready catalog
said "could not be resolved"
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 4

. "$(dirname "$0")/../../lib.sh"
ready
said "cannot run the converter"
k wait pod/subject --for=condition=Ready=false --timeout=120s
sleep 3

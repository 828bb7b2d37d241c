. "$(dirname "$0")/../../lib.sh"
ready
said "max-series-per-database limit exceeded" subject
k wait pod/subject --for=condition=Ready=false --timeout=60s
sleep 4

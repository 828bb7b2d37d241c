. "$(dirname "$0")/../../lib.sh"
ready
said "reloading prices" supplier
k wait pod/subject --for=condition=Ready=false --timeout=120s
said HARAKIRI quotes; sleep 4

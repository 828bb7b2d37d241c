. "$(dirname "$0")/../../lib.sh"
until [ "$(restarts redis)" -ge 2 ]; do sleep 1; done
k wait pod/subject --for=condition=Ready=false --timeout=30s; sleep 6

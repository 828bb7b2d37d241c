. "$(dirname "$0")/../../lib.sh"
said "serving initial configuration"
k wait pod/subject --for=condition=ContainersReady=false --timeout=30s; sleep 15

. "$(dirname "$0")/../../lib.sh"
ready
said "No space left on device" jobs
k wait pod/subject --for=condition=Ready=false --timeout=90s

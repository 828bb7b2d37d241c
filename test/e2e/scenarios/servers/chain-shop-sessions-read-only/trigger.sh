. "$(dirname "$0")/../../lib.sh"
said "sessions cannot be kept: MISCONF"
said "Read-only file system" sessions
k wait pod/subject --for=condition=Ready=false --timeout=30s; sleep 4

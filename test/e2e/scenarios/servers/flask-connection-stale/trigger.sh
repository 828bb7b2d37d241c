. "$(dirname "$0")/../../lib.sh"
ready
k delete pod db-0
until_true k wait pod/db-0 --for=condition=Ready --timeout=120s
said "connection already closed"; sleep 6

. "$(dirname "$0")/../../lib.sh"
k wait pod/mysql --for=condition=Ready --timeout=150s
said "blocked because of many" subject api; sleep 8

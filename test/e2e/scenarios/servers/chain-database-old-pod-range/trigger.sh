. "$(dirname "$0")/../../lib.sh"
k wait pod/db pod/api --for=condition=Ready --timeout=150s
said "no pg_hba.conf entry" db; said "is DOWN"; sleep 6

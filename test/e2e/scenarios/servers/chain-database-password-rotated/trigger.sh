. "$(dirname "$0")/../../lib.sh"
ready
k exec db -- /usr/lib/postgresql/15/bin/psql -c "alter role shop password 'autumn-2026'"
k wait pod/subject --for=condition=Ready=false --timeout=120s
said "password authentication failed" pooler; sleep 3

. "$(dirname "$0")/../../lib.sh"
ready
# the audit wants no MD5: the same password, kept in the other way
k exec db -- /usr/lib/postgresql/15/bin/psql -c "set password_encryption = 'scram-sha-256'" -c "alter role shop password 'spring-2026'"
said "wrong password type" pooler
k wait pod/subject --for=condition=Ready=false --timeout=60s
sleep 3

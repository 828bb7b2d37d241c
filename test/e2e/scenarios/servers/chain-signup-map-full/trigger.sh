. "$(dirname "$0")/../../lib.sh"
ready
said MDB_MAP_FULL ldap
k wait pod/subject --for=condition=Ready=false --timeout=90s
sleep 3

. "$(dirname "$0")/../../lib.sh"
# a database says it in its log, and hangs up on PHP
said 'max_allowed_packet' mysql
k wait pod/subject --for=condition=Ready=false --timeout=60s; sleep 6

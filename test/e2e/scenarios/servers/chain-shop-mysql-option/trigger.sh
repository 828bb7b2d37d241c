. "$(dirname "$0")/../../lib.sh"
ready php
again mariadb
k wait pod/subject --for=condition=Ready=false --timeout=30s; sleep 8

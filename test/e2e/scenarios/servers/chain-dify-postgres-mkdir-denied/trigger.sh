. "$(dirname "$0")/../../lib.sh"
again dify-postgresql-0; again subject; sleep 3

. "$(dirname "$0")/../../lib.sh"
again projects-db
again subject; sleep 3

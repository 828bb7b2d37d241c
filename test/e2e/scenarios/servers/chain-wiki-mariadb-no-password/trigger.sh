. "$(dirname "$0")/../../lib.sh"
again wiki-db
again subject; sleep 3

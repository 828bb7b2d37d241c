. "$(dirname "$0")/../../lib.sh"
said Started; again db; sleep 5

. "$(dirname "$0")/../../lib.sh"
ready broker
again jobs-db
again subject; sleep 3

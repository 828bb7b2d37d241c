. "$(dirname "$0")/../../lib.sh"
ready cache
said NOREPLICAS; sleep 8

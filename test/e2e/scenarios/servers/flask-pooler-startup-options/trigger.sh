. "$(dirname "$0")/../../lib.sh"
ready pooler
again subject
sleep 3

. "$(dirname "$0")/../../lib.sh"
again subject
sleep 8

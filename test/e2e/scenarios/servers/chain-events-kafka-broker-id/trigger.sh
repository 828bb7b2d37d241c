. "$(dirname "$0")/../../lib.sh"
again kafka-0
again subject; sleep 5

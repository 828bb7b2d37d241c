. "$(dirname "$0")/../../lib.sh"
again jitsu-kafka-0
again subject; sleep 8

. "$(dirname "$0")/../../lib.sh"
again mykafka-zookeeper-0
again subject; sleep 3

. "$(dirname "$0")/../../lib.sh"
again events-zookeeper-0
again subject; sleep 3

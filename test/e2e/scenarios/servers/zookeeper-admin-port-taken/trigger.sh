. "$(dirname "$0")/../../lib.sh"
again subject
said "Unable to start AdminServer" subject zookeeper; sleep 4

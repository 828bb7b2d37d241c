. "$(dirname "$0")/../../lib.sh"
said "daemon started"
again subject; sleep 3

. "$(dirname "$0")/../../lib.sh"
said "Server startup complete" records-mq-0
again subject; sleep 22

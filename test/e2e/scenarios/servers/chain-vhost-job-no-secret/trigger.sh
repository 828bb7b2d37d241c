. "$(dirname "$0")/../../lib.sh"
ready queue
said "vhost orders not found"; sleep 6

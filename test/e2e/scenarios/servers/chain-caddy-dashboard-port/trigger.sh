. "$(dirname "$0")/../../lib.sh"
ready dashboard
said "up and running" dashboard
said "connection refused"; sleep 8

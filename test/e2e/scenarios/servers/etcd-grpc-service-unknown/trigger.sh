. "$(dirname "$0")/../../lib.sh"
said "ready to serve client requests"; sleep 10

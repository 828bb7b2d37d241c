. "$(dirname "$0")/../../lib.sh"
said "Health checks on"
said "Listening on"; sleep 15

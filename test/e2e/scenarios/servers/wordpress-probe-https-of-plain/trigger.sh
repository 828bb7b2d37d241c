. "$(dirname "$0")/../../lib.sh"
said "server started" subject wordpress; sleep 15

. "$(dirname "$0")/../../lib.sh"
said "unrecognized arguments"; sleep 20

. "$(dirname "$0")/../../lib.sh"
said "positional arguments"; sleep 8

. "$(dirname "$0")/../../lib.sh"
said FATAL; sleep 4

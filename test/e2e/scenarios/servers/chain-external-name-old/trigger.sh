. "$(dirname "$0")/../../lib.sh"
said ENOTFOUND accounts; sleep 6

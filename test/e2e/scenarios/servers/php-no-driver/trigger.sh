. "$(dirname "$0")/../../lib.sh"
said "could not find driver" subject php; sleep 5

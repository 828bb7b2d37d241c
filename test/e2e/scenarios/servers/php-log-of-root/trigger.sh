. "$(dirname "$0")/../../lib.sh"
said "could not be opened" subject php; sleep 5

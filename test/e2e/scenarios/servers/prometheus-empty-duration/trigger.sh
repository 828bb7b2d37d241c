. "$(dirname "$0")/../../lib.sh"
said "empty duration string"; again subject; sleep 2

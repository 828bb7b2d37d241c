. "$(dirname "$0")/../../lib.sh"
ready
said "bots log in" bots
again subject; sleep 3

. "$(dirname "$0")/../../lib.sh"
ready primary
said "No space left" primary
said MISCONF subject; sleep 10

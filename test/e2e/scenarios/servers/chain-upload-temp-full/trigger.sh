. "$(dirname "$0")/../../lib.sh"
said "No space left on device" gateway
again subject; sleep 3

. "$(dirname "$0")/../../lib.sh"
said "loading part"
again subject; sleep 6

. "$(dirname "$0")/../../lib.sh"
again subject
said "panic: Get"; sleep 3

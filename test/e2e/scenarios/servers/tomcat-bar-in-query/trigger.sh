. "$(dirname "$0")/../../lib.sh"
said "Invalid character found in the request target"; sleep 8

. "$(dirname "$0")/../../lib.sh"
said "Unrecognized sentinel configuration statement"
again subject; sleep 5

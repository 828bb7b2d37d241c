. "$(dirname "$0")/../../lib.sh"
said "invalid permissions" subject postgresql
again subject
sleep 3

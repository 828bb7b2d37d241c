. "$(dirname "$0")/../../lib.sh"
said "interface conversion"
again subject
sleep 5

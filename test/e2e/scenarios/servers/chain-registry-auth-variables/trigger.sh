. "$(dirname "$0")/../../lib.sh"
said "cannot unmarshal" subject registry
again subject
sleep 5

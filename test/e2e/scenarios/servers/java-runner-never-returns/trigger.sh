. "$(dirname "$0")/../../lib.sh"
said "so far"
said "12 orders so far"; sleep 10

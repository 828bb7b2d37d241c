. "$(dirname "$0")/../../lib.sh"
said "no tools from"; sleep 5

. "$(dirname "$0")/../../lib.sh"
ready
said "TypeError" pages; sleep 10

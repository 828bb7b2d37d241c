. "$(dirname "$0")/../../lib.sh"
said "upstream" subject nginx; sleep 15

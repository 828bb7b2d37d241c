. "$(dirname "$0")/../../lib.sh"
said "while connecting to upstream" subject nginx; sleep 9

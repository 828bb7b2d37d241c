. "$(dirname "$0")/../../lib.sh"
said "access forbidden by rule" subject nginx; sleep 10

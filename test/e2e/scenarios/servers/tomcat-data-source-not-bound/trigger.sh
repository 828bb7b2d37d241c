. "$(dirname "$0")/../../lib.sh"
said "is not bound in this Context"; sleep 8

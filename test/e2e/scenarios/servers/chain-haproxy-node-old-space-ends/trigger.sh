. "$(dirname "$0")/../../lib.sh"
said "no server available"
again prices; sleep 12

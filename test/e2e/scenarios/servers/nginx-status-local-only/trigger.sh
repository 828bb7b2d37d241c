. "$(dirname "$0")/../../lib.sh"
said 'forbidden by rule'; sleep 6

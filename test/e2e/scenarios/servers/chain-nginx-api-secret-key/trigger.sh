. "$(dirname "$0")/../../lib.sh"
said "while connecting to upstream"; sleep 9

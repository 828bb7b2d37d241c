. "$(dirname "$0")/../../lib.sh"
again flask
said "while connecting to upstream"; sleep 8

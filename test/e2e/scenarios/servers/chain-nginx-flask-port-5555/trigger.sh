. "$(dirname "$0")/../../lib.sh"
ready todo
said "Running on" todo
said "while connecting to upstream"; sleep 12

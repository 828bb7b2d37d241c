. "$(dirname "$0")/../../lib.sh"
said "Running on"; sleep 14

. "$(dirname "$0")/../../lib.sh"
said '/health'; sleep 6

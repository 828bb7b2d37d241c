. "$(dirname "$0")/../../lib.sh"
said "startup complete"; sleep 16

. "$(dirname "$0")/../../lib.sh"
said "Cannot find module"; sleep 8

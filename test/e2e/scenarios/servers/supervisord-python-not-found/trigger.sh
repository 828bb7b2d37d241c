. "$(dirname "$0")/../../lib.sh"
said "gave up: web entered FATAL state"; sleep 8

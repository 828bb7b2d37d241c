. "$(dirname "$0")/../../lib.sh"
said "entered FATAL state"; sleep 12

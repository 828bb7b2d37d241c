. "$(dirname "$0")/../../lib.sh"
said "Trying again"; sleep 4

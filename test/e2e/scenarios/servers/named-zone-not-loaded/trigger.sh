. "$(dirname "$0")/../../lib.sh"
said "not loaded due to errors"; sleep 8

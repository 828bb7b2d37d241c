. "$(dirname "$0")/../../lib.sh"
said "at least 3 master nodes"; sleep 12

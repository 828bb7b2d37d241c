. "$(dirname "$0")/../../lib.sh"
said "Blocked hosts"; sleep 10

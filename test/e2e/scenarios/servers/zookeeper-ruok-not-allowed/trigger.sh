. "$(dirname "$0")/../../lib.sh"
said "binding to port"; sleep 14

. "$(dirname "$0")/../../lib.sh"
said "forking another one"; sleep 10

. "$(dirname "$0")/../../lib.sh"
said 'exited: warm-cache'; sleep 12

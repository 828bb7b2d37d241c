. "$(dirname "$0")/../../lib.sh"
said 'ready\.'; sleep 12

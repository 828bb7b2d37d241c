. "$(dirname "$0")/../../lib.sh"
said 'disconnect from'; sleep 12

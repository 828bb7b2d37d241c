. "$(dirname "$0")/../../lib.sh"
said 'ready\.'; again subject

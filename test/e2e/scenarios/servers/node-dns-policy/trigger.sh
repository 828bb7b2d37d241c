. "$(dirname "$0")/../../lib.sh"
ready prices
said "EAI_AGAIN\|ENOTFOUND"; sleep 6

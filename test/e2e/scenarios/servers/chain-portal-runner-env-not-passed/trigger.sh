. "$(dirname "$0")/../../lib.sh"
again runner-account-default
said "not ready"; sleep 8

. "$(dirname "$0")/../../lib.sh"
said "cannot assign requested address"
again subject; sleep 3

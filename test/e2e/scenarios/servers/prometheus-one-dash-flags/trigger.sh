. "$(dirname "$0")/../../lib.sh"
again subject
said "unknown short flag"; sleep 4

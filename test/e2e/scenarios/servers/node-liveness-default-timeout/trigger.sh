. "$(dirname "$0")/../../lib.sh"
said "listening"
again subject

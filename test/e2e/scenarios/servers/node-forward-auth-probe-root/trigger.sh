. "$(dirname "$0")/../../lib.sh"
again subject
said "no auth header"

. "$(dirname "$0")/../../lib.sh"
said "GET / 200"
again subject

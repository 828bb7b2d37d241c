. "$(dirname "$0")/../../lib.sh"
said "2379"
again subject

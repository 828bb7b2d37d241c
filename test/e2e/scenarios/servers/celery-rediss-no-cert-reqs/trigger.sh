. "$(dirname "$0")/../../lib.sh"
said "Unrecoverable error"
again subject

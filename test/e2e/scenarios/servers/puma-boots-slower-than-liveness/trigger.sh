. "$(dirname "$0")/../../lib.sh"
again subject
said "loading court areas"

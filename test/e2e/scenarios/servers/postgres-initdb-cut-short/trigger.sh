. "$(dirname "$0")/../../lib.sh"
again subject
said "exists but is not empty"; sleep 5

. "$(dirname "$0")/../../lib.sh"
again subject
said "Running upgrade"; sleep 5

. "$(dirname "$0")/../../lib.sh"
again subject
said "checks done"; sleep 5

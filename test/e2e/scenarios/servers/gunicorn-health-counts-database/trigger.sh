. "$(dirname "$0")/../../lib.sh"
ready subject
again subject; said "counted in"; sleep 3

. "$(dirname "$0")/../../lib.sh"
again subject; said "host not found in upstream"; sleep 3

. "$(dirname "$0")/../../lib.sh"
again subject; said "Could not import module"; sleep 3

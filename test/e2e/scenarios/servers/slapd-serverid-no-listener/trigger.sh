. "$(dirname "$0")/../../lib.sh"
said "no serverID / URL match found"
again subject; sleep 3

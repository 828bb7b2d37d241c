. "$(dirname "$0")/../../lib.sh"
said "registry is not healthy" core
again subject
until k logs subject --previous 2>/dev/null | grep -q UNAVAILABLE; do sleep 1; done; sleep 2

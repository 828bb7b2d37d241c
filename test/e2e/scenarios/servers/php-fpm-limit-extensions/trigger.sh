. "$(dirname "$0")/../../lib.sh"
until k logs subject -c php 2>/dev/null | grep -q "limit_extensions"; do sleep 1; done
sleep 6

. "$(dirname "$0")/../../lib.sh"
until [ "$(restarts)" -ge 1 ] || k logs subject 2>/dev/null | grep -q "signal 9"; do sleep 1; done
sleep 15

. "$(dirname "$0")/../../lib.sh"
while [ "$(restarts subject)" -lt 1 ] && ! k logs subject 2>/dev/null | grep -q "DAMN ! worker"; do sleep 1; done
sleep 5

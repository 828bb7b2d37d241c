. "$(dirname "$0")/../../lib.sh"
until [ "$(restarts)" -ge 1 ] || [ "$(k logs subject 2>/dev/null | grep -c "loading the model")" -ge 3 ]; do sleep 1; done
sleep 8

. "$(dirname "$0")/../../lib.sh"
while [ "$(restarts)" -lt 2 ]; do sleep 1; done

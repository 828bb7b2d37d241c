. "$(dirname "$0")/../../lib.sh"
ready factory-mosquitto
again subject; sleep 3

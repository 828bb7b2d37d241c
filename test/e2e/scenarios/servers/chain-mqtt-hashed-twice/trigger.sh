. "$(dirname "$0")/../../lib.sh"
ready mosquitto
said "Not authorized"
again subject
sleep 5

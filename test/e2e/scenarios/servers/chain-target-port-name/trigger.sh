. "$(dirname "$0")/../../lib.sh"
ready shop
said "serving initial configuration"; sleep 10

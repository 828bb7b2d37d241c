. "$(dirname "$0")/../../lib.sh"
said "serving initial configuration"; sleep 15

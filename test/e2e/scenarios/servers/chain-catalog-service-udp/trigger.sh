. "$(dirname "$0")/../../lib.sh"
ready catalog
said "serving initial configuration"; sleep 15

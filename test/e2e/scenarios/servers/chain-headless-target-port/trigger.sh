. "$(dirname "$0")/../../lib.sh"
ready catalog
said "attempt to connect to"; sleep 10

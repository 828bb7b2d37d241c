. "$(dirname "$0")/../../lib.sh"
ready faltta
said "backend: GET"; sleep 6

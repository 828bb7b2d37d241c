. "$(dirname "$0")/../../lib.sh"
again subject
said "Bad file format"; sleep 6

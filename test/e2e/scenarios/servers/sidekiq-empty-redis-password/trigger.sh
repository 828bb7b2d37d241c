. "$(dirname "$0")/../../lib.sh"
ready redis
again subject
said "AUTH <password> called"; sleep 3

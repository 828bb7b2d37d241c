. "$(dirname "$0")/../../lib.sh"
said "listening on 8080"; sleep 2

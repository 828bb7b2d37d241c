. "$(dirname "$0")/../../lib.sh"
said "waiting for MySQL server"; again subject; sleep 8

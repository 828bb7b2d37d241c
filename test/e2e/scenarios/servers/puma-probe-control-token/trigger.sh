. "$(dirname "$0")/../../lib.sh"
said "Starting control server"; sleep 8

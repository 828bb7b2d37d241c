. "$(dirname "$0")/../../lib.sh"
said "Redis does not answer"; sleep 12

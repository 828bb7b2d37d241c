. "$(dirname "$0")/../../lib.sh"
said "Invalid HTTP_HOST header"; sleep 8

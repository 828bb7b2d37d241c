. "$(dirname "$0")/../../lib.sh"
said "Terminating timed out worker"; sleep 3

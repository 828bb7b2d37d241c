. "$(dirname "$0")/../../lib.sh"
said "Application startup failed"; sleep 12

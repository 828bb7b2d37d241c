. "$(dirname "$0")/../../lib.sh"
said "Debugger listening"; sleep 10

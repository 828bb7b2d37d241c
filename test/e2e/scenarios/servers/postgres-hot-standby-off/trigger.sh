. "$(dirname "$0")/../../lib.sh"
said "entering standby mode"; sleep 20

. "$(dirname "$0")/../../lib.sh"
said "local only mode" mosquitto
said "Connection refused"; sleep 10

. "$(dirname "$0")/../../lib.sh"
again broker
said "MQTT broker:1883"; sleep 4

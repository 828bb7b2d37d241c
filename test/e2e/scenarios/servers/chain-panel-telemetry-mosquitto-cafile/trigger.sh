. "$(dirname "$0")/../../lib.sh"
again mosquitto
said "mqtt mosquitto" telemetry
said "telemetry: "; sleep 8

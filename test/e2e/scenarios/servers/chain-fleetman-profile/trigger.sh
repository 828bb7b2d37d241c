. "$(dirname "$0")/../../lib.sh"
ready api-gateway
again position-tracker
said "vehicles" api-gateway; sleep 8

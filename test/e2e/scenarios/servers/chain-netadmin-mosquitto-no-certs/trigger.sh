. "$(dirname "$0")/../../lib.sh"
again mqtt-0
said "unable to connect to broker" netadmin-api-0; sleep 12

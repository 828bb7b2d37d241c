. "$(dirname "$0")/../../lib.sh"
ready mosquitto
ready collector
said "trying again" collector
said "/values: HTTP Error 503"; sleep 8

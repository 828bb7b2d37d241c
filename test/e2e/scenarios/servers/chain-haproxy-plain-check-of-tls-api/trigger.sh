. "$(dirname "$0")/../../lib.sh"
ready api
said "Layer7 invalid response" api-lb
said "no clusters from"; sleep 8

. "$(dirname "$0")/../../lib.sh"
again frontend
said "http.log.error"; sleep 6

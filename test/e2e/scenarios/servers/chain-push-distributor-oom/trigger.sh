. "$(dirname "$0")/../../lib.sh"
ready mimir-gateway
again mimir-distributor
said "server returned HTTP status 503"; sleep 12

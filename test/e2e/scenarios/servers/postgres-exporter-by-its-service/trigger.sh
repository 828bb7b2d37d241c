. "$(dirname "$0")/../../lib.sh"
said "ready to accept connections" subject postgres
said "error opening connection" subject exporter; sleep 12

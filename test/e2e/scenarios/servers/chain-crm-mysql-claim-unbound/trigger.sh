. "$(dirname "$0")/../../lib.sh"
said "health:" crm-api
said "readyz:"; sleep 8

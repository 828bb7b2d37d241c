. "$(dirname "$0")/../../lib.sh"
said "Mail health check failed" members-api members
again members-api
said "Mail health check failed" members-api members; sleep 4

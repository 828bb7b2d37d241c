. "$(dirname "$0")/../../lib.sh"
ready session-store
ready subject
k delete pod session-store --grace-period=1
again subject
said "Redis health check failed"

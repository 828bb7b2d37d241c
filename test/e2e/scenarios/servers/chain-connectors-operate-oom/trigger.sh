. "$(dirname "$0")/../../lib.sh"
again operate
again subject
said "Operate health check failed"

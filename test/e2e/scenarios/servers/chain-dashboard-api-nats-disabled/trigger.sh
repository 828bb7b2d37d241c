. "$(dirname "$0")/../../lib.sh"
again testkube-api-server
said "v1/info"; sleep 8

. "$(dirname "$0")/../../lib.sh"
again config-server
again subject

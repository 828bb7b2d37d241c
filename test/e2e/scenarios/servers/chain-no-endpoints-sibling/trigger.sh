. "$(dirname "$0")/../../lib.sh"
again nginx-svc; sleep 4

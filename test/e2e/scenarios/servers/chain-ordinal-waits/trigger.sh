. "$(dirname "$0")/../../lib.sh"
k wait pod/sessions-0 --for=jsonpath='{.status.containerStatuses[0].started}'=true --timeout=150s
said "session 43 of sessions-1"; sleep 8

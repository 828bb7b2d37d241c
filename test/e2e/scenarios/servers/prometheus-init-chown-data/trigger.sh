. "$(dirname "$0")/../../lib.sh"
tries() { [ "$(k get pod subject -o jsonpath='{.status.initContainerStatuses[0].restartCount}')" -ge 1 ] 2>/dev/null; }
until_true tries

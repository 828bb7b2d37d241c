. "$(dirname "$0")/../../lib.sh"
ready db
tried() { [ "0$(k get pod subject -o jsonpath='{.status.initContainerStatuses[0].restartCount}')" -ge 1 ]; }
until_true tried; sleep 4

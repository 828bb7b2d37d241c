. "$(dirname "$0")/../../lib.sh"
ready orders
tried() { [ "0$(k get pod db-0 -o jsonpath='{.status.initContainerStatuses[0].restartCount}')" -ge 1 ]; }
until_true tried
said "Exception on /orders/open" orders; sleep 5

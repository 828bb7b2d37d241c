. "$(dirname "$0")/../../lib.sh"
said "resource busy" subject nautobot-init
until [ "$(k get pod subject -o jsonpath='{.status.initContainerStatuses[0].restartCount}')" -ge 1 ]; do sleep 1; done
sleep 5

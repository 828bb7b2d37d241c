. "$(dirname "$0")/../../lib.sh"
said "tcp://sessions:6379" shop
until_true bash -c 'kubectl -n "$NS" get pod sessions -o jsonpath="{.status.containerStatuses[0].state.waiting.reason}" | grep -q CreateContainerConfigError'
sleep 10

. "$(dirname "$0")/../../lib.sh"
until k get pod subject -o jsonpath='{.status.initContainerStatuses[0].state.waiting.reason}' | grep -q CreateContainerConfigError; do sleep 1; done
sleep 10

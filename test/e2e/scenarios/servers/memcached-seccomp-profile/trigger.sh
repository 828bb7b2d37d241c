. "$(dirname "$0")/../../lib.sh"
until k get pod subject -o jsonpath='{.status.containerStatuses[0].state.waiting.message}' | grep -q seccomp; do sleep 1; done
sleep 4

. "$(dirname "$0")/../../lib.sh"
refused() { k get pod subject -o jsonpath='{.status.containerStatuses[0].state.waiting.message}' | grep -q runAsNonRoot; }
until_true refused
sleep 3

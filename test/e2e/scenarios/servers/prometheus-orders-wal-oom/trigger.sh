. "$(dirname "$0")/../../lib.sh"
backs_off() { k get pod subject -o jsonpath='{.status.containerStatuses[0].state.waiting.reason}' | grep -q CrashLoopBackOff; }
while [ "$(restarts)" -lt 2 ]; do sleep 1; done
until_true backs_off

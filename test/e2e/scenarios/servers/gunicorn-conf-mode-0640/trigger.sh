. "$(dirname "$0")/../../lib.sh"
again subject
backing_off() { [ "$(k get pod subject -o jsonpath='{.status.containerStatuses[0].state.waiting.reason}')" = CrashLoopBackOff ]; }
until_true backing_off

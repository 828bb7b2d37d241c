. "$(dirname "$0")/../../lib.sh"
again subject
until [ "$(k get pod subject -o jsonpath='{.status.containerStatuses[0].state.waiting.reason}')" = CrashLoopBackOff ]; do sleep 1; done

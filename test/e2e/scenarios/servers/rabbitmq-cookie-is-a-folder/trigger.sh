. "$(dirname "$0")/../../lib.sh"
backoff() { [ "$(k get pod subject -o jsonpath='{.status.containerStatuses[0].state.waiting.reason}')" = CrashLoopBackOff ]; }
again subject
until_true backoff

. "$(dirname "$0")/../../lib.sh"
dead() { [ "$(restarts nats-0)" -ge 3 ] && k get pod nats-0 -o jsonpath='{.status.containerStatuses[0].state.waiting.reason}' | grep -q CrashLoopBackOff; }
until_true dead
sleep 6

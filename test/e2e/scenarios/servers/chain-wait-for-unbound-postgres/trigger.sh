. "$(dirname "$0")/../../lib.sh"
until [ -n "$(k get pod subject -o jsonpath='{.status.initContainerStatuses[0].state.running.startedAt}')" ]; do sleep 1; done
until k logs subject -c wait-for-database 2>/dev/null | grep -q "no response"; do sleep 1; done
sleep 10

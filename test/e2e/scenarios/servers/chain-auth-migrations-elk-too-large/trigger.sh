. "$(dirname "$0")/../../lib.sh"
ready mariadb
until [ -n "$(k get pod subject -o jsonpath='{.status.initContainerStatuses[1].state.running.startedAt}')" ]; do sleep 1; done
sleep 20

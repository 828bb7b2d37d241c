. "$(dirname "$0")/../../lib.sh"
until k get pod subject -o jsonpath='{.status.initContainerStatuses[1].restartCount}' | grep -q '[1-9]'; do sleep 1; done
sleep 3

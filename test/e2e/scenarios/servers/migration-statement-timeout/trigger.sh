. "$(dirname "$0")/../../lib.sh"
ready db
until_true sh -c "kubectl -n \"$NS\" get pod subject -o jsonpath='{.status.initContainerStatuses[0].restartCount}' | grep -q '[1-9]'"; sleep 3

. "$(dirname "$0")/../../lib.sh"
until k get pod subject -o jsonpath='{.status.containerStatuses[0]}' | grep -q OOMKilled; do sleep 1; done

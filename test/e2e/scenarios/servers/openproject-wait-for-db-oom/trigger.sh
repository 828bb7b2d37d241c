. "$(dirname "$0")/../../lib.sh"
ready openproject-postgresql
until_true eval '[ "$(k get pod subject -o jsonpath="{.status.initContainerStatuses[0].restartCount}")" -ge 1 ]'; sleep 3

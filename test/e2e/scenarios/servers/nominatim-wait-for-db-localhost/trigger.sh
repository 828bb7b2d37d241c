. "$(dirname "$0")/../../lib.sh"
ready gis-postgresql-0
until [ "$(k get pod subject -o jsonpath='{.status.initContainerStatuses[0].restartCount}')" -ge 1 ] 2>/dev/null; do sleep 1; done
sleep 3

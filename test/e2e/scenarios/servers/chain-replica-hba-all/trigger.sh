. "$(dirname "$0")/../../lib.sh"
ready postgres-primary
said "no pg_hba.conf entry for replication connection" subject clone
until [ "$(k get pod subject -o jsonpath='{.status.initContainerStatuses[0].restartCount}')" -ge 1 ]; do sleep 1; done
sleep 5

. "$(dirname "$0")/../../lib.sh"
until k get pod gitea-postgresql-0 -o jsonpath='{.status.containerStatuses}' | grep -qE 'exec format|CrashLoopBackOff|RunContainerError|StartError|terminated'; do sleep 1; done
until [ "$(k get pod subject -o jsonpath='{.status.initContainerStatuses[1].restartCount}' | grep -c "[1-9]")" = 1 ]; do sleep 1; done
sleep 10

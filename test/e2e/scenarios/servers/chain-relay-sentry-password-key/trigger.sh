. "$(dirname "$0")/../../lib.sh"
ready my-postgresql
until_true sh -c "kubectl -n $NS get pod sentry-web -o jsonpath='{.status.containerStatuses[0].state.waiting.reason}' | grep -q CreateContainerConfigError"
said "dial tcp"; sleep 5

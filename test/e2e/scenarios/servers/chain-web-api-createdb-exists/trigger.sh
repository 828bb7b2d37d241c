. "$(dirname "$0")/../../lib.sh"
until_true eval '[ "$(k get pod api-postgresql -o jsonpath="{.status.initContainerStatuses[0].restartCount}")" -ge 1 ]'
said "database:" api
said "502 api"; sleep 6

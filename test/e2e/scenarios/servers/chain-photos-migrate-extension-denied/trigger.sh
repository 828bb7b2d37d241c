. "$(dirname "$0")/../../lib.sh"
ready photos-postgresql
migrate_restarts() { k get pods -l app=photos-migrate -o jsonpath='{.items[0].status.containerStatuses[0].restartCount}' 2>/dev/null | grep -E '^[1-9]'; }
until migrate_restarts >/dev/null; do sleep 1; done
sleep 8

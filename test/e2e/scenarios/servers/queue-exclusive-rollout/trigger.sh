. "$(dirname "$0")/../../lib.sh"
k rollout status deployment/bookings --timeout=220s
old=$(k get pods -l app=bookings -o jsonpath='{.items[0].metadata.name}')
k patch deployment bookings -p '{"spec":{"template":{"spec":{"containers":[{"name":"worker","resources":{"limits":{"memory":"256Mi"}}}]}}}}'
new=$old
until [ "$new" != "$old" ]; do sleep 1; new=$(k get pods -l app=bookings --sort-by=.metadata.creationTimestamp -o jsonpath='{.items[-1:].metadata.name}'); done
again "$new"
echo "subject=pod/$new"

. "$(dirname "$0")/../../lib.sh"
k rollout status deployment/prometheus --timeout=220s
old=$(k get pods -l app=prometheus -o jsonpath='{.items[0].metadata.name}')
k patch deployment prometheus -p '{"spec":{"template":{"spec":{"containers":[{"name":"prometheus","resources":{"limits":{"memory":"512Mi"}}}]}}}}'
new=$old
until [ "$new" != "$old" ]; do sleep 1; new=$(k get pods -l app=prometheus --sort-by=.metadata.creationTimestamp -o jsonpath='{.items[-1:].metadata.name}'); done
again "$new"
echo "subject=pod/$new"

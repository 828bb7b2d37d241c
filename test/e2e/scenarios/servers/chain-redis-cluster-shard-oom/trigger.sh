. "$(dirname "$0")/../../lib.sh"
k rollout status statefulset/shard --timeout=220s
addresses=$(k get pods -l app=shard -o jsonpath='{range .items[*]}{.metadata.name} {.status.podIP}:6379{"\n"}{end}' | sort | cut -d' ' -f2)
k exec shard-0 -- redis-cli --cluster create $addresses --cluster-yes
ready
while [ "$(restarts shard-2)" -lt 2 ]; do sleep 1; done
k wait pod/subject --for=condition=Ready=false --timeout=120s
sleep 4

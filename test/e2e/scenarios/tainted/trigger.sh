. "$(dirname "$0")/../lib.sh"
kubectl taint nodes --all team=blog:NoSchedule
kubectl -n "$NS" apply -f - <<E
{apiVersion: v1, kind: Pod, metadata: {name: subject}, spec: {containers: [{name: c, image: "busybox:1", command: [sleep, "1000"]}]}}
E

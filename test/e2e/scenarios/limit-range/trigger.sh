. "$(dirname "$0")/../lib.sh"
# The API server learns of the LimitRange a moment after it was made.
for _ in $(seq 60); do
  kubectl -n "$NS" apply -f - <<E
{apiVersion: v1, kind: Pod, metadata: {name: subject}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: "busybox:1", command: [sh, -c, "sleep 3; exec dd if=/dev/zero of=/dev/null bs=64M count=1"]}]}}
E
  [ "$(k get pod subject -o jsonpath='{.spec.containers[0].resources.limits.memory}')" = 24Mi ] && exit
  k delete pod subject --now
done

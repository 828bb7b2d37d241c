. "$(dirname "$0")/../lib.sh"
ready
k apply -f - <<END
{apiVersion: v1, kind: Pod, metadata: {name: high}, spec: {priorityClassName: scenario-high, terminationGracePeriodSeconds: 1,
  containers: [{name: c, image: "busybox:1", command: [sleep, "1000"], ports: [{containerPort: 80, hostPort: 18081}]}]}}
END
ready high

package dump

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

const described1 = `Name:             web-1
Namespace:        shop
Status:           Pending
IP:
Containers:
  app:
    Image:          registry.example/app:1
    State:          Waiting
      Reason:       %s
    Ready:          False
    Restart Count:  0
    Readiness:      tcp-socket :80 delay=0s timeout=1s period=10s #success=1 #failure=3
  side:
    Image:          registry.example/side:1
    State:          Running
      Started:      Fri, 20 Nov 2026 09:00:01 +0000
    Ready:          True
    Restart Count:  0
Conditions:
  Type           Status
  PodScheduled   %s
Events:
  Type     Reason            Age                From               Message
  ----     ------            ----               ----               -------
`

// What kubectl describe leaves out of a pod's status stands in its events.
func TestWaiting(t *testing.T) {
	for _, c := range []struct {
		name, reason, scheduled, event string
		message, path                  string
	}{
		{"image", "ErrImagePull", "True", `Warning  Failed  3s (x2 over 20s)  kubelet  Failed to pull image "registry.example/app:1": rpc error: not found`, "rpc error: not found", "spec.containers{app}"},
		{"secret", "CreateContainerConfigError", "True", `Warning  Failed  3s  kubelet  Error: secret "db" not found`, `secret "db" not found`, ""},
		{"scheduler", "", "False", `Warning  FailedScheduling  3s  default-scheduler  0/4 nodes are available: 4 Insufficient cpu.`, "0/4 nodes are available: 4 Insufficient cpu.", ""},
		{"probe", "", "True", `Warning  Unhealthy  3s  kubelet  Readiness probe failed: dial tcp 10.0.0.7:80: connect: connection refused`, "", "spec.containers{app}"},
		{"name", "", "True", `Normal  Started  3s  kubelet  Started container side`, "", "spec.containers{side}"},
	} {
		r := newReader(1 << 20)
		var cells []any
		for _, cell := range strings.Split(c.event, "  ") {
			cells = append(cells, cell)
		}
		row := fmt.Sprintf("  %-9s%-18s%-19s%-19s%s\n", cells...)
		if !r.descriptions("pods.txt", fmt.Sprintf(described1, c.reason, c.scheduled)+row) {
			t.Fatal(c.name)
		}
		p, e := r.described[0], r.events[0]
		message := p.Status.ContainerStatuses[0].State.Waiting.Message
		for _, cond := range p.Status.Conditions {
			if cond.Type == v1.PodScheduled {
				message += cond.Message
			}
		}
		if message != c.message || e.InvolvedObject.FieldPath != c.path {
			t.Errorf("%s: %q, %q", c.name, message, e.InvolvedObject.FieldPath)
		}
	}
}

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// A StatefulSet starts its pods in order, names them for DNS, and brings one back
// under its name.
func TestStatefulSet(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {clusterIP: None, selector: {app: db}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: "shell:1"}]
`)
	s.mustKubectl("rollout", "status", "statefulset/db", "--timeout=50s")
	first, second := s.waitReady("db-0"), s.waitReady("db-1")
	if second.CreationTimestamp.Before(&first.CreationTimestamp) {
		t.Error("db-1 was made before db-0")
	}
	s.mustKubectl("delete", "pod", "db-1")
	old := second.UID
	second = s.waitPod("db-1", 30*time.Second, "is back", func(p *v1.Pod) bool { return p.UID != old && isReady(p) })
	// CoreDNS answers from its cache for up to 30 s (cluster/dns.go), for names that
	// were asked before.
	s.eventually(45*time.Second, "db-1.db follows the pod", func() error {
		out, err := s.exec("db-0", "dig", "+short", "+search", "db-1.db")
		if err == nil && strings.TrimSpace(out) != second.Status.PodIP {
			err = fmt.Errorf("it resolves to %q, the pod has %s", out, second.Status.PodIP)
		}
		return err
	})
}

func TestDaemonSetAndCronJob(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: everywhere}
spec:
  selector: {matchLabels: {app: everywhere}}
  template:
    metadata: {labels: {app: everywhere}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: "busybox:1", command: [sleep, infinity]}]
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 1 1 *"
  jobTemplate:
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          containers: [{name: c, image: "busybox:1", command: [echo, done]}]
`)
	s.mustKubectl("rollout", "status", "daemonset/everywhere", "--timeout=40s")
	s.explains("cronjob/nightly", "It has made no job yet")
	s.mustKubectl("create", "job", "tonight", "--from=cronjob/nightly")
	s.mustKubectl("wait", "job/tonight", "--for=condition=complete", "--timeout=40s")
	if out := s.mustKubectl("logs", "job/tonight"); out != "done\n" {
		t.Errorf("the job printed %q", out)
	}
	s.explains("cronjob/nightly", "Nothing is wrong with the newest of its jobs, tonight")
}

// A drain goes as far as the disruption budgets let it. It has a node of its own,
// which is cordoned for it.
func TestDrainRespectsBudget(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	s := newSpace(t, n)
	s.apply(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: "busybox:1", command: [sleep, infinity]}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
`)
	s.mustKubectl("rollout", "status", "deployment/web", "--timeout=40s")
	s.mustKubectl("wait", "pdb/web", "--for=jsonpath={.status.currentHealthy}=1", "--timeout=30s")
	node := strings.TrimSpace(s.mustKubectl("get", "nodes", "-o", "jsonpath={.items[0].metadata.name}"))
	_, err := s.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=4s")
	if err == nil || !strings.Contains(err.Error(), "Cannot evict pod as it would violate the pod's disruption budget") {
		t.Errorf("a drain against the budget: %v", err)
	}
	s.mustKubectl("delete", "pdb", "web")
	if out, err := s.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=30s"); err != nil {
		t.Errorf("a drain without one: %v: %s", err, out)
	}
	for _, name := range s.podsOf("app=web", 1) {
		s.waitPod(name, 20*time.Second, "finds no node", func(p *v1.Pod) bool {
			return p.Spec.NodeName == "" && strings.Contains(condition(p, v1.PodScheduled).Message, "unschedulable")
		})
	}
	s.mustKubectl("uncordon", node)
	s.mustKubectl("rollout", "status", "deployment/web", "--timeout=30s")
}

// Deleting a namespace takes all that is in it.
func TestNamespaceDeletion(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	other := &space{t: t, node: shared, name: s.name + "-other"}
	s.mustKubectl("create", "namespace", other.name)
	other.eventually(20*time.Second, "default service account", func() error {
		_, err := other.kubectl("get", "serviceaccount", "default")
		return err
	})
	other.mustKubectl("create", "configmap", "c", "--from-literal=a=b")
	other.apply(`
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity], volumeMounts: [{name: c, mountPath: /c}]}]
  volumes: [{name: c, configMap: {name: c}}]
`)
	other.waitReady("p")
	s.mustKubectl("delete", "namespace", other.name, "--timeout=40s")
	s.gone("namespace", other.name)
}

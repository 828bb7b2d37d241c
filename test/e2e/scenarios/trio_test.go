package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/front/archive"
	"whylet.dev/whylet/test/peer"
	"whylet.dev/whylet/why/answer"
)

// stage is a trio that tests play on.
type stage struct {
	*testing.T
	c *Trio
}

func (s *stage) kubectl(stdin string, args ...string) string {
	s.Helper()
	out, err := s.c.Run(s.Context(), stdin, "kubectl", args...)
	if err != nil {
		s.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// begin makes a namespace with some objects in it.
func (s *stage) begin(namespace, manifest string) {
	s.Helper()
	if err := s.c.stack.Namespace(s.Context(), namespace); err != nil {
		s.Fatal(err)
	}
	if manifest != "" {
		s.kubectl(manifest, "-n", namespace, "apply", "-f", "-")
	}
}

// until asks until the answer is as it should be: good says what is wrong with it.
func (s *stage) until(subject, namespace string, good func(a *answer.Answer) error) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience(s.T))
	defer cancel()
	var last answer.Answer
	began := time.Now()
	err := eventually(ctx, 2*time.Second, func() error {
		raw, err := s.c.Why(ctx, ByFront, subject, namespace)
		if a := (answer.Answer{}); json.Unmarshal(raw, &a) == nil && len(a.Verdicts) > 0 {
			last = a
			return good(&a)
		}
		return err
	})
	if err != nil {
		s.Errorf("%s: %v\n%s", subject, err, last.Text(answer.Style{Wide: true}))
		return
	}
	s.Logf("%s: after %v:\n%s", subject, time.Since(began).Round(time.Second), last.Text(answer.Style{}))
}

// caused wants a verdict of a cause, and of it what it has in common.
func caused(cause answer.Cause, common answer.CommonKind, words ...string) func(*answer.Answer) error {
	return func(a *answer.Answer) error {
		for _, v := range a.Verdicts {
			shared := func(c answer.Common) bool { return c.Kind == common && c.Certainty == answer.Inferred }
			if v.Cause != cause || common != "" && !slices.ContainsFunc(v.InCommon, shared) {
				continue
			}
			text := strings.Join(strings.Fields(a.Text(answer.Style{Wide: true})), " ")
			for _, w := range words {
				if !strings.Contains(text, w) {
					return fmt.Errorf("%q is not said", w)
				}
			}
			return nil
		}
		return fmt.Errorf("no verdict is %s with %q in common", cause, common)
	}
}

// What crosses the nodes of a real cluster of three, asked at the front's door.
func TestTrio(t *testing.T) {
	if mode := os.Getenv("WHYLET_TRIO"); mode == "" || mode == "pools" {
		t.Skip("it runs three real nodes: make test-trio")
	}
	bin, err := peer.FindBinaries(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c, err := StartTrio(t.Context(), bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs end:\n%s", c.Log())
		}
		if err := c.Purge(); err != nil {
			t.Error("clean-up:", err)
		}
	})
	t.Logf("three nodes after %v:\n%s", time.Since(began).Round(time.Second), (&stage{t, c}).kubectl("", "get", "nodes", "-o", "wide"))
	// The scheduler leaves Whylet's node to those that name it.
	(&stage{t, c}).kubectl("", "taint", "node", "whylet", "guest=yes:NoSchedule")
	t.Run("together", func(t *testing.T) {
		for name, play := range map[string]func(*stage){
			"rollout": rolloutOverNodes, "dependency": dependencyElsewhere, "one node": oneBadNode, "guest": whyletsOwn, "neighbour": noisyNeighbour,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				play(&stage{t, c})
			})
		}
	})
	// What is together is looked at before a node that is short of memory ends some of it.
	t.Run("tenant", func(t *testing.T) { tenant(&stage{t, c}) })
	t.Run("overview", func(t *testing.T) { overview(&stage{t, c}) })
	if os.Getenv("WHYLET_TRIO") == "score" {
		t.Run("score", func(t *testing.T) { score(t, c) })
	}
	t.Run("takes all CPUs", func(t *testing.T) { takesCPU(&stage{t, c}) })
	t.Run("takes all memory", func(t *testing.T) { takesMemory(&stage{t, c}) })
	t.Run("drained", func(t *testing.T) { drained(&stage{t, c}) })
	t.Run("lost", func(t *testing.T) {
		t.Run("second", func(t *testing.T) {
			t.Parallel()
			lost(&stage{t, c})
		})
		t.Run("guest", func(t *testing.T) {
			t.Parallel()
			guestLost(&stage{t, c})
		})
	})
}

// What nodes of one pool share, and what those of one zone do, is told from what a node has by
// itself where there are enough of them: seven real kubelets, of which the disks of one pool
// lack something, and those of a zone something else.
func TestTrioPools(t *testing.T) {
	if os.Getenv("WHYLET_TRIO") != "pools" {
		t.Skip("it runs seven real kubelets: make test-trio TRIO=pools")
	}
	bin, err := peer.FindBinaries(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	images := t.TempDir() // what each of them loads
	if err := os.Symlink(filepath.Join(bin.Whylet, "images", "busybox.tar"), filepath.Join(images, "busybox.tar")); err != nil {
		t.Fatal(err)
	}
	bin.Images = images
	names := []string{"old-1", "old-2", "new-1", "new-2", "new-3", "new-4"}
	began := time.Now()
	c, err := StartMany(t.Context(), bin, names...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Purge(); err != nil {
			t.Error("clean-up:", err)
		}
	})
	s := &stage{t, c}
	t.Logf("seven nodes after %v", time.Since(began).Round(time.Second))
	for _, k := range append([]*Kubelet{c.Kubelet}, c.more...) {
		pool, zone := "new", "near"
		if strings.HasPrefix(k.stack.Node, "old") {
			pool = "old"
		} else if err := onDisk(k, "licence"); err != nil {
			t.Fatal(err)
		}
		if slices.Contains([]string{"new-3", "new-4"}, k.stack.Node) {
			zone = "far"
		} else if err := onDisk(k, "index"); err != nil {
			t.Fatal(err)
		}
		s.kubectl("", "label", "node", k.stack.Node, "cloud.google.com/gke-nodepool="+pool, "topology.kubernetes.io/zone="+zone)
	}
	var manifest strings.Builder
	for _, name := range []string{"one", "two", "three"} {
		manifest.WriteString(licensed(name, len(names)+1) + indexed("indexed-"+name, len(names)+1))
	}
	s.begin("pools", manifest.String())
	const share = "pods on nodes with %s fail so, and 0 of 15 of the same workloads elsewhere: it is what those nodes share"
	s.until("deployment/one", "pools", caused(answer.AppExitError, answer.CommonNodes, fmt.Sprintf("6 of 6 "+share, "node pool old")))
	s.until("deployment/indexed-one", "pools", caused(answer.MemoryLimit, answer.CommonNodes, fmt.Sprintf(share, "zone far")))
}

// onDisk puts a file into /var/log of a node.
func onDisk(k *Kubelet, name string) error {
	return os.WriteFile(filepath.Join(k.stack.Dir, "own", "_var_log", name), []byte("good"), 0o644)
}

// licensed are pods that run where the node's disk has a file.
func licensed(name string, replicas int) string {
	return reading(deployment(name, replicas, "test -f /var/log/licence || { echo no licence here; exit 4; }; sleep 100000", `, volumeMounts: [{name: log, mountPath: /var/log}]`))
}

// indexed are pods that take more memory than they may where it has not.
func indexed(name string, replicas int) string {
	return reading(deployment(name, replicas, "test -f /var/log/index || exec tail /dev/zero; sleep 100000", `, resources: {limits: {memory: 16Mi}}, volumeMounts: [{name: log, mountPath: /var/log}]`))
}

// reading gives pods the node's /var/log.
func reading(deployment string) string {
	return strings.Replace(deployment, "automountServiceAccountToken: false,", "automountServiceAccountToken: false, volumes: [{name: log, hostPath: {path: /var/log}}],", 1)
}

// deployment is one of busybox pods, spread over the real kubelets.
func deployment(name string, replicas int, script, more string) string {
	return fmt.Sprintf(`---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: %[1]s}, spec: {replicas: %[2]d, selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {
  terminationGracePeriodSeconds: 1, automountServiceAccountToken: false,
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, nodeTaintsPolicy: Honor, labelSelector: {matchLabels: {app: %[1]s}}}],
  containers: [{name: c, image: "busybox:1", command: [sh, -c, %[3]q]%[4]s}]}}}}
`, name, replicas, script, more)
}

// A new revision ends at once, on whatever node; the old one runs on.
func rolloutOverNodes(s *stage) {
	const steady = `, readinessProbe: {exec: {command: ["true"]}, initialDelaySeconds: 2, periodSeconds: 1}` // else a pod that ends at once counts as ready
	s.begin("rollout", deployment("web", 6, "sleep 100000", steady))
	s.kubectl("", "-n", "rollout", "rollout", "status", "deployment/web", "--timeout=3m")
	s.kubectl(deployment("web", 6, "echo the new one cannot; exit 3", steady), "-n", "rollout", "apply", "-f", "-")
	s.until("deployment/web", "rollout", caused(answer.AppExitError, answer.CommonRevision, "it came with revision 2", "command of container c", "rollout undo deployment/web --to-revision=1"))
}

// Pods on both nodes ask for one on the first, which does not listen any more.
func dependencyElsewhere(s *stage) {
	s.begin("dependency", `
{apiVersion: v1, kind: Pod, metadata: {name: db, labels: {app: db}}, spec: {nodeName: peer, terminationGracePeriodSeconds: 1, automountServiceAccountToken: false,
  containers: [{name: c, image: "busybox:1", command: [sh, -c, "mkdir /pages; echo here >/pages/page; httpd -p 8080 -h /pages; sleep 100000"]}]}}`)
	s.kubectl("", "-n", "dependency", "wait", "pod/db", "--for=condition=Ready", "--timeout=3m")
	ip := s.kubectl("", "-n", "dependency", "get", "pod", "db", "-o", "jsonpath={.status.podIP}")
	ask := fmt.Sprintf("wget -q -O /dev/null http://%s:8080/page", ip)
	probe := fmt.Sprintf(`, readinessProbe: {exec: {command: [sh, -c, %q]}, periodSeconds: 3, failureThreshold: 2, timeoutSeconds: 5}`, ask)
	s.kubectl(deployment("web", 4, "sleep 100000", probe), "-n", "dependency", "apply", "-f", "-")
	s.kubectl("", "-n", "dependency", "rollout", "status", "deployment/web", "--timeout=3m")
	s.kubectl("", "-n", "dependency", "exec", "db", "--", "killall", "httpd")
	s.until("deployment/web", "dependency", func(a *answer.Answer) error {
		for _, v := range a.Verdicts {
			for _, c := range v.InCommon {
				if c.Kind == answer.CommonDependency && c.Nodes == 2 && c.With.Failing == 4 && c.Certainty == answer.Inferred {
					return nil
				}
			}
		}
		return fmt.Errorf("no dependency fails four pods on two nodes")
	})
}

// What is there on the first node is not on the second.
func oneBadNode(s *stage) {
	if err := onDisk(s.c.Kubelet, "licence"); err != nil {
		s.Fatal(err)
	}
	var manifest strings.Builder
	for _, name := range []string{"one", "two", "three"} {
		manifest.WriteString(licensed(name, 4))
	}
	s.begin("bad-node", manifest.String())
	s.until("deployment/one", "bad-node", caused(answer.AppExitError, answer.CommonNodes, "6 of 6 pods on node second fail so, and 0 of 6 of the same workloads elsewhere: it is the node"))
}

// A pod on Whylet's node is answered for as one beside a kubelet is.
func whyletsOwn(s *stage) {
	s.begin("guest", `
{apiVersion: v1, kind: Pod, metadata: {name: subject}, spec: {nodeName: whylet, tolerations: [{operator: Exists}], terminationGracePeriodSeconds: 1, automountServiceAccountToken: false,
  containers: [{name: c, image: "busybox:1", command: [sh, -c, "tail /dev/zero"], resources: {limits: {memory: 16Mi}}}]}}`)
	s.until("pod/subject", "guest", caused(answer.MemoryLimit, ""))
}

// One pod fills the disk that its neighbour on the same node writes to.
func noisyNeighbour(s *stage) {
	s.begin("neighbour", `
{apiVersion: v1, kind: Pod, metadata: {name: quiet}, spec: {nodeName: second, terminationGracePeriodSeconds: 1, automountServiceAccountToken: false,
  volumes: [{name: shared, emptyDir: {sizeLimit: 8Mi}}],
  containers: [{name: quiet, image: "busybox:1", command: [sleep, "100000"], volumeMounts: [{name: shared, mountPath: /shared}]},
    {name: noisy, image: "busybox:1", command: [sh, -c, "dd if=/dev/zero of=/shared/fill bs=1M count=64; sleep 100000"], volumeMounts: [{name: shared, mountPath: /shared}]}]}}`)
	s.until("pod/quiet", "neighbour", caused(answer.EvictedDisk, ""))
}

// A neighbour takes all CPUs, for as long as it is asked about.
func takesCPU(s *stage) {
	all, err := Load("own", "cpu-saturated")
	if err != nil {
		s.Fatal(err)
	}
	// The machine is shared with the other nodes.
	manifest := strings.ReplaceAll(all[0].Manifest, "seq 16", "seq 6")
	s.begin("takes-cpu", strings.ReplaceAll(manifest, "spec:\n", "spec:\n  nodeName: second\n  automountServiceAccountToken: false\n"))
	s.kubectl("", "-n", "takes-cpu", "wait", "pod/subject", "pod/neighbour", "--for=condition=Ready", "--timeout=3m")
	s.kubectl("", "-n", "takes-cpu", "exec", "neighbour", "--", "touch", "/tmp/go")
	s.until("pod/subject", "takes-cpu", caused(answer.NodeCPUSaturated, ""))
	s.kubectl("", "-n", "takes-cpu", "delete", "pod", "neighbour", "--now")
}

// A neighbour of higher priority takes the node's memory, and a pod goes for it that has
// next to none.
func takesMemory(s *stage) {
	s.begin("takes-memory", `
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: loud}, value: 1000}
---
{apiVersion: v1, kind: Pod, metadata: {name: subject}, spec: {nodeName: second, terminationGracePeriodSeconds: 1, automountServiceAccountToken: false,
  containers: [{name: c, image: "busybox:1", command: [sleep, "100000"]}]}}`)
	s.kubectl("", "-n", "takes-memory", "wait", "pod/subject", "--for=condition=Ready", "--timeout=3m")
	s.kubectl(`
{apiVersion: v1, kind: Pod, metadata: {name: neighbour}, spec: {nodeName: second, priorityClassName: loud, terminationGracePeriodSeconds: 1, automountServiceAccountToken: false,
  containers: [{name: c, image: "stress:1", args: ["--vm", "1", "--vm-bytes", "940M", "--vm-hang", "0"]}]}}`, "-n", "takes-memory", "apply", "-f", "-")
	s.until("pod/subject", "takes-memory", caused(answer.EvictedMemory, "", "neighbour"))
	// As long as the node is short it takes in nobody who asks for nothing.
	s.kubectl(`
{apiVersion: v1, kind: Pod, metadata: {name: late}, spec: {nodeName: second, terminationGracePeriodSeconds: 1, automountServiceAccountToken: false,
  containers: [{name: c, image: "busybox:1", command: [sleep, "100000"]}]}}`, "-n", "takes-memory", "apply", "-f", "-")
	s.until("pod/late", "takes-memory", caused(answer.EvictedMemory, "", "takes in no BestEffort pod"))
	s.kubectl("", "-n", "takes-memory", "delete", "pod", "neighbour", "--now")
	s.kubectl("", "wait", "node/second", "--for=condition=MemoryPressure=false", "--timeout=3m")
}

// Somebody with rights in one namespace sees its pods, and of others numbers.
func tenant(s *stage) {
	api := s.c.stack.Client.CoreV1()
	s.kubectl("", "-n", "bad-node", "create", "rolebinding", "tenant", "--clusterrole=view", "--serviceaccount=bad-node:default")
	token, err := api.ServiceAccounts("bad-node").CreateToken(s.Context(), "default", &authv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	kubeconfig := s.c.in("tenant.conf")
	if err := peer.Kubeconfig(kubeconfig, token.Status.Token); err != nil {
		s.Fatal(err)
	}
	told, err := s.c.Run(s.Context(), "", "kubectl-why", "--kubeconfig", kubeconfig, "-n", "bad-node", "--all", "-v")
	if text := string(told); err != nil || !strings.Contains(text, "in common") || !strings.Contains(text, "node second") || strings.Contains(text, "rollout/") || strings.Contains(text, "dependency") {
		s.Errorf("%v\n%s", err, text)
	}
	if out, err := s.c.Run(s.Context(), "", "kubectl-why", "--kubeconfig", kubeconfig, "-n", "rollout", "--all"); err == nil {
		s.Errorf("the tenant is told of another namespace:\n%s", out)
	}
}

// All at once says first what pods have in common.
func overview(s *stage) {
	out, err := s.c.Run(s.Context(), "", "kubectl-why", "--all", "-A")
	text := string(out)
	s.Logf("%v\n%s", err, text)
	for _, want := range []string{"it came with revision 2", "it is the node", "4 pods on 2 nodes fail"} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			s.Errorf("%q is not in it", want)
		}
	}
}

// A node is drained: what was on it went because somebody asked for it, not of itself.
func drained(s *stage) {
	s.begin("drained", `
{apiVersion: v1, kind: Pod, metadata: {name: subject}, spec: {nodeName: second, terminationGracePeriodSeconds: 1, automountServiceAccountToken: false,
  containers: [{name: c, image: "busybox:1", command: [sleep, "100000"]}]}}`)
	s.kubectl("", "-n", "drained", "wait", "pod/subject", "--for=condition=Ready", "--timeout=3m")
	s.kubectl("", "drain", "second", "--force", "--ignore-daemonsets", "--delete-emptydir-data", "--pod-selector=!app", "-n", "drained", "--timeout=3m")
	s.until("pod/subject", "drained", caused(answer.Deleted, ""))
	s.kubectl("", "uncordon", "second")
}

// A node is lost: why a pod of it went before is known still, and of those that were on it
// that their node is.
func lost(s *stage) {
	s.begin("lost", `
{apiVersion: v1, kind: Pod, metadata: {name: before}, spec: {nodeName: second, terminationGracePeriodSeconds: 1, automountServiceAccountToken: false,
  containers: [{name: c, image: "busybox:1", command: [sh, -c, "tail /dev/zero"], resources: {limits: {memory: 16Mi}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: still}, spec: {nodeName: second, terminationGracePeriodSeconds: 1, automountServiceAccountToken: false,
  containers: [{name: c, image: "busybox:1", command: [sleep, "100000"]}]}}`)
	s.kubectl("", "-n", "lost", "wait", "pod/still", "--for=condition=Ready", "--timeout=3m")
	s.until("pod/before", "lost", caused(answer.MemoryLimit, ""))
	s.kubectl("", "-n", "lost", "delete", "pod", "before", "--wait")
	s.until("pod/before", "lost", caused(answer.MemoryLimit, ""))
	s.archived("lost", "before")
	if err := s.c.LoseSecond(); err != nil {
		s.Fatal(err)
	}
	s.until("pod/before", "lost", caused(answer.MemoryLimit, ""))
	s.until("pod/still", "lost", caused(answer.NodeLost, ""))
}

// A node of Whylet's told the front of its pods: what it said of one that is gone outlives it.
func guestLost(s *stage) {
	s.kubectl("", "-n", "guest", "delete", "pod", "subject", "--wait")
	s.until("pod/subject", "guest", caused(answer.MemoryLimit, ""))
	s.archived("guest", "subject")
	if err := s.c.LoseGuest(); err != nil {
		s.Fatal(err)
	}
	s.until("pod/subject", "guest", caused(answer.MemoryLimit, ""))
}

// archived waits until the front has a pod's closing answer, which its node gives 2 s after its end.
func (s *stage) archived(namespace, name string) {
	s.Helper()
	a := archive.New(archive.Options{Place: s.c.in("archive.db"), Log: slog.New(slog.DiscardHandler)})
	if err := a.Open(s.Context()); err != nil {
		s.Fatal(err)
	}
	defer a.Close()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	if err := eventually(ctx, 100*time.Millisecond, func() error {
		_, ok, err := a.Newest(ctx, namespace, name, "")
		if err == nil && !ok {
			err = errors.New("it is not there")
		}
		return err
	}); err != nil {
		s.Fatalf("the closing answer of %s/%s: %v", namespace, name, err)
	}
}

// score plays the scenarios that one real kubelet is tested with, spread over two, and asks
// at the front's door.
func score(t *testing.T, c *Trio) {
	all := third(t)
	s := &Suite{Node: c, Patience: min(patience(t), 2*time.Minute), Every: 2 * time.Second}
	if err := s.Prepare(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	playAll(t, s, all, func(*Scenario) bool { return true })
}

package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/mesh/identity"
	"whylet.dev/whylet/why/answer"
)

// patience is how long a part of the mesh's test may wait for anything.
const patience = 3 * time.Minute

// caDue is how long after the test's beginning the mesh's first CA has to be
// followed by the next one: late enough for members to have certificates of it.
const caDue = 45 * time.Second

// meshPods are put into the mesh together; the parts of the test look at them.
const meshPods = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: a
    image: meshapp:1
    env: [{name: NAME, value: a}]
    livenessProbe: {httpGet: {path: /liveness, port: 14001}, periodSeconds: 1, timeoutSeconds: 10}
    readinessProbe: {httpGet: {path: /readiness, port: 14001}, periodSeconds: 1, timeoutSeconds: 10, failureThreshold: 1}
  - name: b
    image: meshapp:1
    env: [{name: NAME, value: b}, {name: BASE, value: "14101"}]
    ports: [{name: http, containerPort: 14101}]
    livenessProbe: {httpGet: {path: /liveness, port: http}, periodSeconds: 1, timeoutSeconds: 10}
    readinessProbe: {httpGet: {path: /readiness, port: http}, periodSeconds: 1, timeoutSeconds: 10, failureThreshold: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: plain, annotations: {mesh.whylet.dev/rewrite-probes: disabled}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: meshapp:1
    readinessProbe: {httpGet: {path: /readiness, port: 14001}, periodSeconds: 1, timeoutSeconds: 10}
---
apiVersion: v1
kind: Pod
metadata: {name: plain-tcp, annotations: {mesh.whylet.dev/rewrite-probes: disabled}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: meshapp:1
    readinessProbe: {tcpSocket: {port: 9}, periodSeconds: 1, timeoutSeconds: 10}
---
apiVersion: v1
kind: Pod
metadata: {name: tcp}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: meshapp:1
    livenessProbe: {tcpSocket: {port: 14001}, periodSeconds: 1, timeoutSeconds: 10}
    readinessProbe: {tcpSocket: {port: 9}, periodSeconds: 1, timeoutSeconds: 10}
---
apiVersion: v1
kind: Pod
metadata: {name: grpc}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: meshapp:1
    readinessProbe: {grpc: {port: 14002}, periodSeconds: 1, timeoutSeconds: 10, failureThreshold: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: https}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: meshapp:1
    env: [{name: NAME, value: https}]
    readinessProbe: {httpGet: {path: /secret, port: 14003, scheme: HTTPS}, periodSeconds: 1, timeoutSeconds: 10}
---
apiVersion: v1
kind: Pod
metadata: {name: victim}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: meshapp:1
    readinessProbe: {httpGet: {path: /readiness, port: 14001}, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: stranger, labels: {mesh.whylet.dev/inject: disabled}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: app, image: "meshapp:1"}
`

// seedPods fail as the third seed's page shows it, in osm-edge's form.
const seedPods = `
apiVersion: v1
kind: Pod
metadata: {name: bookstore}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: meshapp:1
    env: [{name: NAME, value: bookstore}]
    livenessProbe: {httpGet: {path: /liveness, port: 14001, scheme: HTTP}, timeoutSeconds: 10}
    readinessProbe: {httpGet: {path: /secret, port: 14003, scheme: HTTPS}, periodSeconds: 1, timeoutSeconds: 10}
    startupProbe: {tcpSocket: {port: 14001}, periodSeconds: 1, timeoutSeconds: 10, failureThreshold: 60}
---
apiVersion: v1
kind: Pod
metadata: {name: startup}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: meshapp:1
    env: [{name: FAIL, value: /startup}]
    startupProbe: {httpGet: {path: /startup, port: 14001}, periodSeconds: 1, timeoutSeconds: 10}
---
apiVersion: v1
kind: Pod
metadata: {name: liveness}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: meshapp:1
    env: [{name: FAIL, value: /liveness}]
    livenessProbe: {httpGet: {path: /liveness, port: 14001}, periodSeconds: 1, timeoutSeconds: 10}
---
apiVersion: v1
kind: Pod
metadata: {name: readiness}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: meshapp:1
    env: [{name: FAIL, value: /readiness}]
    readinessProbe: {httpGet: {path: /readiness, port: 14001}, periodSeconds: 1, timeoutSeconds: 10}
`

// TestMesh is the third seed with real pods: a mesh is enabled, probes work in it
// and tell the truth, and it goes again. Its parts follow one another.
func TestMesh(t *testing.T) {
	t.Parallel()
	m := newMesh(t)
	m.part("enable", m.enable)
	m.apply(meshPods)
	m.part("rewriting", m.rewriting)
	m.part("closed TCP port", m.closedPort)
	m.part("two containers count", m.twoContainers)
	m.part("port-forward", func(s *space) { m.portForward(s, "web", "/osm-liveness-probe/a", "hello of a, asked for /liveness") })
	m.part("gRPC", m.grpc)
	m.part("HTTPS", m.https)
	m.part("members and strangers", m.strangers)
	m.part("sidecar stopped", m.sidecarStopped)
	m.part("sidecar killed", m.sidecarKilled)
	m.part("opting in and out", m.opting)
	m.part("rotation", m.rotation)
	m.part("webhook down", m.webhookDown)
	m.part("as osm-edge", m.asOSMEdge)
	m.part("uninstall", m.uninstall)
}

// meshTest is a namespace in the mesh.
type meshTest struct {
	*space
	failed bool
}

// part runs a part of the test; after one that failed the others make no sense.
func (m *meshTest) part(name string, run func(*space)) {
	m.t.Helper()
	if m.failed {
		return
	}
	m.failed = !m.t.Run(name, func(t *testing.T) {
		run(&space{t: t, node: m.node, name: m.name})
	})
}

// newMesh makes a namespace, and loads the images of the mesh and of the application.
func newMesh(t *testing.T) *meshTest {
	t.Helper()
	s := newSpace(t, shared)
	dir := t.TempDir()
	app := filepath.Join(dir, "meshapp")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", app, "./meshapp")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the application: %v: %s", err, out)
	}
	for _, args := range [][]string{
		{"mesh", "image", "--to", filepath.Join(dir, "mesh.tar")},
		{"mesh", "image", "--to", filepath.Join(dir, "app.tar"), "--binary", app, "--tag", "meshapp:1"},
		{"image", "load", "--data-dir", shared.data(), filepath.Join(dir, "mesh.tar"), filepath.Join(dir, "app.tar")},
	} {
		if out, code := shared.whylet(t, args...); code != 0 {
			t.Fatalf("whylet %s: %s", strings.Join(args, " "), out)
		}
	}
	// Another test may not find the mesh's webhook, nor its roles.
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		out, err := shared.command(ctx, bin("whylet"), "mesh", "uninstall", "--data-dir", shared.data()).CombinedOutput()
		if err != nil {
			t.Errorf("uninstall: %v: %s", err, out)
		}
	})
	return &meshTest{space: s}
}

// mesh runs whylet mesh, and returns its output.
func (s *space) mesh(args ...string) string {
	s.t.Helper()
	out, code := s.node.whylet(s.t, append([]string{"mesh"}, args...)...)
	if code != 0 {
		s.t.Fatalf("whylet mesh %s: %s", strings.Join(args, " "), out)
	}
	return out
}

func (s *space) enable(namespace string, more ...string) {
	s.t.Helper()
	s.mesh(append([]string{"enable", namespace, "--data-dir", s.node.data(), "--wait", "3m"}, more...)...)
}

// enable begins with a CA that is about to be old, for the rotation.
func (m *meshTest) enable(s *space) {
	// Due after two thirds of its life, which begins five minutes before it is made.
	const life = 365*24*time.Hour + 5*time.Minute
	ca, err := identity.NewCA(nil, time.Now().Add(caDue-life*2/3+5*time.Minute))
	if err != nil {
		s.t.Fatal(err)
	}
	if now := time.Now(); ca.Due(now) || !ca.Due(now.Add(2*caDue)) {
		s.t.Fatal("the CA is not about to be due")
	}
	key, err := ca.Key()
	if err != nil {
		s.t.Fatal(err)
	}
	s.mustKubectl("create", "namespace", "whylet-mesh")
	plane := &space{t: s.t, node: s.node, name: "whylet-mesh"}
	plane.apply(fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: whylet-mesh-ca}
data: {ca.crt: %s, ca.key: %s}
`, base64.StdEncoding.EncodeToString(ca.Bundle()), base64.StdEncoding.EncodeToString(key)))
	s.enable(s.name)
}

func (s *space) ready(name string) *v1.Pod {
	s.t.Helper()
	return s.waitPod(name, patience, "Ready", isReady)
}

// why asks about a pod until a verdict has the cause, and returns its text.
func (s *space) why(pod string, cause answer.Cause, parts ...string) {
	s.t.Helper()
	s.eventually(patience, fmt.Sprintf("why pod/%s says %s", pod, cause), func() error {
		cmd := s.node.command(s.t.Context(), bin("whylet"), "why", "pod/"+pod, "-n", s.name, "-o", "json")
		out, err := cmd.Output() // the exit code says how well it is known
		var a answer.Answer
		if len(out) == 0 {
			return err
		}
		if err := json.Unmarshal(out, &a); err != nil {
			return err
		}
		for _, v := range a.Verdicts {
			if v.Cause == cause && containsAll(v.Text, parts) {
				s.t.Logf("whylet why pod/%s\n%s", pod, a.Text(answer.Style{}))
				return nil
			}
		}
		return fmt.Errorf("it says\n%s", a.Text(answer.Style{Wide: true}))
	})
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// events waits until describe shows all parts.
func (s *space) events(pod string, parts ...string) {
	s.t.Helper()
	s.eventually(patience, "the events of "+pod, func() error {
		out, err := s.kubectl("describe", "pod", pod)
		if err == nil && !containsAll(out, parts) {
			err = fmt.Errorf("not all of %q in\n%s", parts, out)
		}
		return err
	})
}

// columns waits until kubectl get pod prints so many ready containers, and Running.
func (s *space) columns(pod, ready string) {
	s.t.Helper()
	s.eventually(patience, "kubectl get pod "+pod, func() error {
		out, err := s.kubectl("get", "pod", pod, "--no-headers")
		if fields := strings.Fields(out); err == nil && (len(fields) < 3 || fields[1] != ready || fields[2] != "Running") {
			err = fmt.Errorf("it prints %q", out)
		}
		return err
	})
}

func (s *space) set(pod, container, what string, code int) {
	s.t.Helper()
	s.mustKubectl("exec", pod, "-c", container, "--", "/whylet", "set", what, fmt.Sprint(code))
}

func (s *space) unready(name string) *v1.Pod {
	s.t.Helper()
	return s.waitPod(name, patience, "not Ready, and running", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodRunning && !isReady(p) })
}

// rewriting: the same application with the same probe fails where rewriting is
// off, and is ready where it is on.
func (m *meshTest) rewriting(s *space) {
	s.ready("web")
	s.events("plain", "Readiness probe failed: Get \"http://")
	s.why("plain", answer.MeshNotRewritten, "readiness GET /readiness:14001", "no identity in the mesh")
	out, code := s.node.whylet(s.t, "mesh", "check", "pod/plain", "-n", s.name, "--data-dir", s.node.data())
	s.t.Logf("whylet mesh check pod/plain\n%s", out)
	if code == 0 || !strings.Contains(out, "mesh-probe-not-rewritten") {
		s.t.Errorf("mesh check of a pod whose probes are not rewritten: exit code %d", code)
	}
	check := s.mesh("check", "pod/web", "-n", s.name, "--data-dir", s.node.data())
	s.t.Logf("whylet mesh check pod/web\n%s", check)
	contains(s.t, check, "GET /liveness:14001, through the mesh")
	s.unready("plain")
}

// closedPort: the proxy accepts every connection, and the rewritten probe tells.
func (m *meshTest) closedPort(s *space) {
	s.ready("plain-tcp") // which shows what the seed complains of
	s.events("tcp", "Readiness probe failed: HTTP probe failed with statuscode: 404")
	s.columns("tcp", "1/2")
	pod := s.unready("tcp")
	if n := status(pod, "app").RestartCount; n != 0 {
		s.t.Errorf("the liveness probe of the open port restarted it %d times", n)
	}
	s.why("tcp", answer.ProbeWrongPort, "port 9")
}

// twoContainers: probes of one kind count for each container.
func (m *meshTest) twoContainers(s *space) {
	for _, name := range []string{"a", "b"} {
		s.set("web", name, "/readiness", 503)
		s.waitPod("web", patience, "not Ready for "+name+" alone", func(p *v1.Pod) bool {
			return !isReady(p) && status(p, "a").Ready == (name != "a") && status(p, "b").Ready == (name != "b")
		})
		s.why("web", answer.AppUnhealthy, "readiness GET /readiness:", "through the mesh) with 503")
		s.set("web", name, "/readiness", 200)
		s.ready("web")
	}
	// On a busy machine the sidecar may come up only after a's first three probes, and cost it a restart.
	before := status(s.waitPod("web", patience, "ready", isReady), "a").RestartCount
	s.set("web", "b", "/liveness", 503)
	pod := s.waitPod("web", patience, "restarted b", func(p *v1.Pod) bool { return status(p, "b").RestartCount > 0 && isReady(p) })
	if n := status(pod, "a").RestartCount; n != before {
		s.t.Errorf("a was restarted %d times for b", n-before)
	}
	s.why("web", answer.AppUnhealthy, "liveness GET /liveness:14101, through the mesh")
}

// portForward asks a probe by hand, as the seed shows it.
func (m *meshTest) portForward(s *space, pod, path, body string) {
	s.forwarded("pod/"+pod, 15901, func(port string) {
		out, err := s.node.command(s.t.Context(), "curl", "-sS", "-i", "--max-time", "60", "http://localhost:"+port+path).CombinedOutput()
		if err != nil {
			s.t.Errorf("curl: %v", err)
		}
		s.t.Logf("curl -i localhost:15901%s\n%s", path, out)
		contains(s.t, strings.ReplaceAll(string(out), "\r", ""), "HTTP/1.1 200 OK\n", "X-Whylet-Answered-By: application\n", "X-Whylet-Upstream-Service-Time: ", "X-Whylet-Sidecar-Service-Time: ", "X-App: ", "\n\n"+body)
	})
}

func (m *meshTest) grpc(s *space) {
	s.ready("grpc")
	s.set("grpc", "app", "grpc", 503)
	s.unready("grpc")
	s.why("grpc", answer.AppUnhealthy, "readiness gRPC :14002, through the mesh", "NOT_SERVING")
	s.set("grpc", "app", "grpc", 200)
	s.ready("grpc")
}

func (m *meshTest) https(s *space) {
	s.ready("https")
	s.forwarded("pod/https", 15902, func(port string) {
		out, err := s.node.command(s.t.Context(), "curl", "-sS", "--max-time", "60", "http://localhost:"+port+"/osm-readiness-probe/app").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "hello of https, asked for /secret over TLS") {
			s.t.Errorf("%v %s", err, out)
		}
	})
}

// strangers: members reach one another, and who is no member reaches none.
func (m *meshTest) strangers(s *space) {
	address := "http://" + s.ready("web").Status.PodIP + ":14001/"
	s.ready("stranger")
	s.reaches("grpc", address)
	out, err := s.kubectl("exec", "stranger", "--", "/whylet", "get", address)
	if err == nil {
		s.t.Errorf("a stranger got %s", out)
	}
	if pod, err := s.pod("stranger"); err != nil || len(pod.Spec.InitContainers) != 0 {
		s.t.Errorf("the label did not keep it out: %v", err)
	}
}

// reaches waits until a pod of the mesh gets an answer from another: it learns of
// new members within seconds.
func (s *space) reaches(pod, address string) {
	s.t.Helper()
	s.eventually(patience, pod+" reaches "+address, func() error {
		out, err := s.kubectl("exec", pod, "-c", "app", "--", "/whylet", "get", address)
		if err == nil && !strings.HasPrefix(out, "200 hello") {
			err = fmt.Errorf("it got %q", out)
		}
		return err
	})
}

func (s *space) signalSidecar(pod string, sig syscall.Signal) {
	s.t.Helper()
	p, err := s.pod(pod)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := syscall.Kill(s.containerPID(p, "whylet-mesh"), sig); err != nil {
		s.t.Fatalf("signal %v to the sidecar of %s: %v", sig, pod, err)
	}
}

func (m *meshTest) sidecarStopped(s *space) {
	s.ready("victim")
	s.signalSidecar("victim", syscall.SIGSTOP)
	s.unready("victim")
	s.why("victim", answer.MeshSidecarNotReady, "sidecar whylet-mesh is stopped", "the application was not asked")
	s.signalSidecar("victim", syscall.SIGCONT)
	s.ready("victim")
}

// sidecarKilled kills it until its back-off leaves the time for a probe to fail.
func (m *meshTest) sidecarKilled(s *space) {
	for n := int32(1); n <= 2; n++ {
		s.ready("victim")
		s.signalSidecar("victim", syscall.SIGKILL)
		s.waitPod("victim", patience, fmt.Sprintf("has lost its sidecar %d times", n), func(p *v1.Pod) bool {
			c := status(p, "whylet-mesh")
			return c.RestartCount >= n || c.LastTerminationState.Terminated != nil && c.State.Running == nil
		})
	}
	s.why("victim", answer.MeshSidecarNotReady, "sidecar whylet-mesh", "did not run", "the application was not asked")
	if pod := s.ready("victim"); status(pod, "app").RestartCount != 0 {
		s.t.Error("the application was restarted for its sidecar")
	}
}

// opting: labels and annotations of pods count more than their namespace's.
func (m *meshTest) opting(s *space) {
	outside := newSpace(s.t, s.node)
	const pod = `
apiVersion: v1
kind: Pod
metadata: {name: %s, %s: {mesh.whylet.dev/inject: %s}}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: "meshapp:1"}]
---
`
	outside.apply(fmt.Sprintf(pod, "by-label", "labels", "enabled") + fmt.Sprintf(pod, "by-annotation", "annotations", "enabled") + fmt.Sprintf(pod, "not-at-all", "labels", "disabled"))
	s.apply(fmt.Sprintf(pod, "out-by-annotation", "annotations", `"false"`))
	for _, one := range []struct {
		in   *space
		name string
		want bool
	}{{outside, "by-label", true}, {outside, "by-annotation", true}, {outside, "not-at-all", false}, {s, "out-by-annotation", false}} {
		if got := one.in.hasSidecar(one.name); got != one.want {
			s.t.Errorf("%s: in the mesh %v, want %v", one.name, got, one.want)
		}
	}
}

func (s *space) hasSidecar(name string) bool {
	s.t.Helper()
	pod, err := s.pod(name)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range pod.Spec.InitContainers {
		if c.Name == "whylet-mesh" {
			return true
		}
	}
	return false
}

const anotherPod = `
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: meshapp:1
    readinessProbe: {httpGet: {path: /readiness, port: 14001}, periodSeconds: 1, timeoutSeconds: 10}
`

// rotation: the CA is followed by the next one, and members of both get along.
func (m *meshTest) rotation(s *space) {
	s.eventually(patience, "the next CA", func() error {
		out, err := s.kubectl("get", "secret", "whylet-mesh-ca", "-n", "whylet-mesh", "-o", "jsonpath={.data.ca\\.crt}")
		if err != nil {
			return err
		}
		bundle, err := base64.StdEncoding.DecodeString(out)
		if n := strings.Count(string(bundle), "BEGIN CERTIFICATE"); err == nil && n != 2 {
			err = fmt.Errorf("the bundle has %d certificates", n)
		}
		return err
	})
	s.apply(fmt.Sprintf(anotherPod, "younger"))
	younger := s.ready("younger")
	s.reaches("grpc", "http://"+younger.Status.PodIP+":14001/")
	s.reaches("younger", "http://"+s.ready("web").Status.PodIP+":14001/")
}

// webhookDown: pods come up without the mesh, or are refused where that was asked
// for, and those in it go on.
func (m *meshTest) webhookDown(s *space) {
	s.planeGone()
	s.apply(fmt.Sprintf(anotherPod, "meanwhile"))
	s.ready("meanwhile")
	if s.hasSidecar("meanwhile") {
		s.t.Error("it is in the mesh, and the webhook is down")
	}
	s.reaches("younger", "http://"+s.ready("web").Status.PodIP+":14001/")

	s.enable(s.name, "--strict")
	s.eventually(patience, "the webhook is registered as strict", func() error {
		out, err := s.kubectl("get", "mutatingwebhookconfiguration", "whylet-mesh", "-o", "jsonpath={.webhooks[*].failurePolicy}")
		if err == nil && out != "Fail Fail Fail" {
			err = fmt.Errorf("its policies are %s", out)
		}
		return err
	})
	s.planeGone()
	_, err := s.kubectlIn(s.t.Context(), fmt.Sprintf(anotherPod, "refused"), "apply", "-f", "-")
	if err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
		s.t.Errorf("with --strict a pod is created: %v", err)
	}
}

// planeGone takes the mesh's control plane away.
func (s *space) planeGone() {
	s.t.Helper()
	s.mustKubectl("scale", "deployment/whylet-mesh", "-n", "whylet-mesh", "--replicas=0")
	s.eventually(patience, "the control plane is gone", func() error {
		out, err := s.kubectl("get", "pods", "-n", "whylet-mesh", "-o", "name")
		if err == nil && out != "" {
			err = fmt.Errorf("there is %s", out)
		}
		return err
	})
}

// asOSMEdge is the seed's page, word for word where it prints something.
func (m *meshTest) asOSMEdge(s *space) {
	osm := newSpace(s.t, s.node)
	osm.enable(osm.name, "--compat", "osm-edge")
	osm.apply(seedPods)
	osm.ready("bookstore")
	m.portForward(osm, "bookstore", "/osm-liveness-probe", "hello of bookstore, asked for /liveness in plain text")
	pod, err := osm.pod("bookstore")
	if err != nil {
		s.t.Fatal(err)
	}
	app := pod.Spec.Containers[0]
	if get := app.LivenessProbe.HTTPGet; get.Path != "/osm-liveness-probe" || get.Port.IntVal != 15901 || get.Scheme != v1.URISchemeHTTP {
		s.t.Errorf("liveness is %+v", get)
	}
	if get := app.ReadinessProbe.HTTPGet; get.Path != "/secret" || get.Port.IntVal != 15902 || get.Scheme != v1.URISchemeHTTPS {
		s.t.Errorf("readiness is %+v", get)
	}
	if get := app.StartupProbe.HTTPGet; get.Path != "/osm-healthcheck" || get.Port.IntVal != 15904 || get.HTTPHeaders[0].Name != "Original-Tcp-Port" || get.HTTPHeaders[0].Value != "14001" {
		s.t.Errorf("startup is %+v", get)
	}
	osm.columns("bookstore", "3/3")
	osm.columns("readiness", "1/2")
	osm.events("startup", "Startup probe failed: HTTP probe failed with statuscode: 503", "Container app failed startup probe, will be restarted")
	osm.events("liveness", "Liveness probe failed: HTTP probe failed with statuscode: 503", "Container app failed liveness probe, will be restarted")
	osm.events("readiness", "Readiness probe failed: HTTP probe failed with statuscode: 503")
	repeated := regexp.MustCompile(`Unhealthy +\S+ \(x\d+ over \S+\) .*Readiness probe failed: HTTP probe failed with statuscode: 503`)
	osm.eventually(patience, "a counted event", func() error {
		out, err := osm.kubectl("describe", "pod", "readiness")
		if err == nil && !repeated.MatchString(out) {
			err = fmt.Errorf("there is none in\n%s", out)
		}
		return err
	})
	osm.why("readiness", answer.AppUnhealthy, "readiness GET /readiness:14001, through the mesh")
	osm.why("liveness", answer.AppUnhealthy, "liveness GET /liveness:14001, through the mesh")
	osm.why("startup", answer.AppUnhealthy, "startup GET /startup:14001, through the mesh")
}

func (m *meshTest) uninstall(s *space) {
	s.mesh("uninstall", "--data-dir", s.node.data())
	for _, object := range []string{"mutatingwebhookconfiguration/whylet-mesh", "clusterrole/whylet-mesh", "clusterrolebinding/whylet-mesh", "namespace/whylet-mesh"} {
		s.eventually(patience, object+" is gone", func() error {
			out, err := s.kubectl("get", object, "--ignore-not-found", "-o", "name")
			if err == nil && out != "" {
				err = fmt.Errorf("there is %s", out)
			}
			return err
		})
	}
	s.apply(fmt.Sprintf(anotherPod, "afterwards"))
	s.ready("afterwards")
	if s.hasSidecar("afterwards") {
		s.t.Error("it is in the mesh, which is uninstalled")
	}
}

package skew

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/test/kube"
	"whylet.dev/whylet/why/answer"
)

// release is a folder with one release's whylet-observe, whylet-front and kubectl-why.
type release struct{ name, dir string }

func (r release) program(name string) string { return filepath.Join(r.dir, name) }

// releases are the one before and this one.
func releases(t *testing.T) (before, now release) {
	t.Helper()
	dirs := strings.Split(os.Getenv("WHYLET_SKEW"), ":")
	if len(dirs) != 2 {
		t.Skip("it needs the programs of two releases: make test-skew")
	}
	return release{"before", dirs[0]}, release{"now", dirs[1]}
}

// cluster is an API server with one node, on which agents are said to run, and what an agent
// and a front keep from one stage to the next.
type cluster struct {
	*testing.T
	kube                              *kube.Server
	dir, kubeconfig, ca, key, address string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{T: t, kube: kube.Start(t), dir: t.TempDir()}
	c.kube.Namespace(t, "whylet", "whylet-agent")
	c.kube.Namespace(t, "shop", "default")
	if _, err := c.kube.Client.CoreV1().Nodes().Create(t.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.kubeconfig = c.write("kubeconfig", fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":%q,"insecure-skip-tls-verify":true}}],"users":[{"name":"u","user":{"token":%q}}]}`, c.kube.Config.Host, c.kube.Config.BearerToken))
	c.certificate()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.address = l.Addr().String()
	_ = l.Close()
	return c
}

func (c *cluster) write(name, text string) string {
	c.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
	return path
}

// certificate makes the front's, which is its own authority.
func (c *cluster) certificate() {
	c.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		c.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		c.Fatal(err)
	}
	c.ca = c.write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	c.key = c.write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}

// kubectlWhy runs a release's client.
func (c *cluster) kubectlWhy(ctx context.Context, r release, args ...string) (out, log string, err error) {
	cmd := exec.CommandContext(ctx, r.program("kubectl-why"), append(args, "--kubeconfig", c.kubeconfig)...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err = cmd.Run()
	return o.String(), e.String(), err
}

// install applies a release's manifests, as kubectl why install does. There is no kubelet, so
// that nothing of it runs; what is shown is that the API server takes them over the other's.
func (c *cluster) install(r release) {
	c.Helper()
	out, log, _ := c.kubectlWhy(c.Context(), r, "install", "--yes", "--wait", "2s", "--tag", r.name)
	front, err := c.kube.Client.AppsV1().Deployments("whylet").Get(c.Context(), "whylet-front", metav1.GetOptions{})
	if err != nil || !strings.HasSuffix(front.Spec.Template.Spec.Containers[0].Image, "/front:"+r.name) {
		c.Fatalf("install of %s: %v\n%s%s", r.name, err, out, log)
	}
	agent, err := c.kube.Client.AppsV1().DaemonSets("whylet").Get(c.Context(), "whylet-agent", metav1.GetOptions{})
	if err != nil || !strings.HasSuffix(agent.Spec.Template.Spec.Containers[0].Image, "/observe:"+r.name) {
		c.Fatalf("install of %s: %v\n%s%s", r.name, err, out, log)
	}
}

// token is that of an agent's pod.
func (c *cluster) token(name string) string {
	c.Helper()
	pod, err := c.kube.Client.CoreV1().Pods("whylet").Create(c.Context(), &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.PodSpec{NodeName: "node-a", ServiceAccountName: "whylet-agent", Containers: []v1.Container{{Name: "agent", Image: "agent"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
	r, err := c.kube.Client.CoreV1().ServiceAccounts("whylet").CreateToken(c.Context(), "whylet-agent", &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{
		Audiences: []string{link.Audience}, BoundObjectRef: &authv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}, metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return r.Status.Token
}

// pod makes one whose ConfigMap is missing, as its status says.
func (c *cluster) pod(name string) {
	c.Helper()
	pods := c.kube.Client.CoreV1().Pods("shop")
	p, err := pods.Create(c.Context(), &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PodSpec{NodeName: "node-a", ServiceAccountName: "default", Containers: []v1.Container{{
			Name: "app", Image: "app",
			EnvFrom: []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "settings"}}}},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
	now := metav1.Now()
	p.Status = v1.PodStatus{
		Phase: v1.PodPending, StartTime: &now,
		Conditions: []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: now}, {Type: v1.PodReady, Status: v1.ConditionFalse, LastTransitionTime: now}},
		ContainerStatuses: []v1.ContainerStatus{{Name: "app", Image: "app", State: v1.ContainerState{
			Waiting: &v1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: `configmap "settings" not found`},
		}}},
	}
	if _, err := pods.UpdateStatus(c.Context(), p, metav1.UpdateOptions{}); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) remove(name string) {
	c.Helper()
	now := int64(0)
	if err := c.kube.Client.CoreV1().Pods("shop").Delete(c.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		c.Fatal(err)
	}
}

// stage is one agent and one front, on what those of the stage before kept.
type stage struct {
	*cluster
	name         string
	agent, front release
}

// play runs both while during runs, and ends them as kubelet does.
func (s stage) play(during func()) {
	s.Helper()
	data := filepath.Join(s.dir, "memory")
	endFront := s.run(s.front.program("whylet-front"), "front-"+s.name, "--kubeconfig", s.kubeconfig, "--agents", s.address, "--listen", "",
		"--tls-cert", s.ca, "--tls-key", s.key, "--archive", filepath.Join(s.dir, "archive.db"))
	defer endFront()
	endAgent := s.run(s.agent.program("whylet-observe"), "agent-"+s.name, "agent", "--kubeconfig", s.kubeconfig, "--node-name", "node-a", "--data-dir", data,
		"--runtime-endpoint", "none", "--no-tap", "--no-probe-again",
		"--front", s.address, "--front-ca", s.ca, "--front-token", s.write("token", s.token("agent-"+s.name)))
	defer endAgent()
	during()
}

// run starts a program, whose log is shown where the test fails.
func (s stage) run(program, name string, args ...string) (end func()) {
	s.Helper()
	log := filepath.Join(s.dir, name+".log")
	pid, kill := kube.Spawn(s, log, program, args...)
	s.Cleanup(func() {
		if text, _ := os.ReadFile(log); s.Failed() {
			s.Logf("%s:\n%s", name, text[max(0, len(text)-3000):])
		}
	})
	return func() {
		p, err := os.FindProcess(pid)
		if err == nil {
			_ = p.Signal(os.Interrupt)
		}
		s.until(name+" ends", func() error { return ended(pid) })
		kill()
	}
}

// ended is nil once a process is gone, or waits to be reaped.
func ended(pid int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || bytes.Contains(stat, []byte(") Z ")) {
		return nil
	}
	return fmt.Errorf("process %d runs", pid)
}

// until waits until something is so.
func (c *cluster) until(what string, so func() error) {
	c.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = so(); err == nil {
			return
		}
	}
	c.Fatalf("never: %s: %v", what, err)
}

// explained asks a release's client until the front answers with the agent's own answer.
func (s stage) explained(client release, pod string) {
	s.Helper()
	s.until(fmt.Sprintf("%s: the client of %s is told why of %s", s.name, client.name, pod), func() error {
		out, log, err := s.kubectlWhy(s.Context(), client, "pod/"+pod, "-n", "shop", "-o", "json", "-v")
		var a answer.Answer
		if jsonErr := json.Unmarshal([]byte(out), &a); jsonErr != nil {
			return fmt.Errorf("%w: %w\n%s%s", err, jsonErr, out, log)
		}
		if !strings.Contains(log, "answered by ") {
			return fmt.Errorf("no front answered: %s", log)
		}
		if a.Journal.From.IsZero() {
			return fmt.Errorf("made of the API alone, without the agent:\n%s", out)
		}
		if !slices.ContainsFunc(a.Verdicts, func(v answer.Verdict) bool { return v.Cause == "config-missing" || v.Cause == "config-invalid" }) {
			return fmt.Errorf("%s\n%s", a.Text(answer.Style{Wide: true}), log)
		}
		return nil
	})
}

// TestUpgradeAndBack goes up front first, and back the same way: at each stage both releases'
// clients get the agent's answer about a pod of this stage, about one that lives all the while
// (the journal is read by the other release), and about one that was deleted in the stage
// before (the archive is).
func TestUpgradeAndBack(t *testing.T) {
	before, now := releases(t)
	c := newCluster(t)
	c.install(before)
	c.pod("kept")
	gone := ""
	for i, s := range []stage{
		{name: "before", agent: before, front: before},
		{name: "front-first", agent: before, front: now},
		{name: "now", agent: now, front: now},
		{name: "front-back", agent: now, front: before},
		{name: "back", agent: before, front: before},
	} {
		s.cluster = c
		if s.front != before {
			c.install(s.front)
		} else if i > 0 {
			c.install(before) // the way back
		}
		s.play(func() {
			own := "pod-" + s.name
			c.pod(own)
			for _, client := range []release{before, now} {
				s.explained(client, own)
				s.explained(client, "kept")
				if gone != "" {
					s.explained(client, gone)
				}
			}
			c.remove(own)
			s.explained(now, own) // its closing answer is there
			gone = own
		})
		for _, r := range []release{before, now} {
			out, err := exec.CommandContext(t.Context(), r.program("whylet-observe"), "why", "pod/kept", "-n", "shop", "--data-dir", filepath.Join(c.dir, "memory")).CombinedOutput()
			if !strings.Contains(string(out), "settings") {
				t.Errorf("after %s: the memory, read by %s: %v\n%s", s.name, r.name, err, out)
			}
		}
	}
}

package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	mrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/credentials"
	authv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/door"
	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/test/kube"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/ask"
)

const (
	podsPerNode = 50
	namespaces  = 50
	// workloads a namespace has; of those that have a pod which is not well all are compared.
	workloads, revision = 20, "5d4f8c7b9d"
	atOnce              = 32
	// restarts a second come in bursts, each of that many seconds' worth.
	restarts, burst = 20, 5
	questions       = 200
	calm            = 30 * time.Second
)

type bench struct {
	*testing.T
	kube    *kube.Server
	client  kubernetes.Interface
	secure  credentials.TransportCredentials
	address string
	pid     int
	agents  []*agent
}

// TestBenchCluster prints a table. WHYLET_FRONT is the binary to measure,
// WHYLET_BENCH_NODES the numbers of nodes, such as 100,300,1000.
func TestBenchCluster(t *testing.T) {
	program := os.Getenv("WHYLET_FRONT")
	if program == "" {
		t.Skip("run 'make bench-cluster'")
	}
	b := &bench{T: t, kube: kube.Start(t)}
	config := rest.CopyConfig(b.kube.Config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	var err error
	if b.client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	b.kube.Namespace(t, "whylet", "whylet-agent")
	for i := range namespaces {
		b.kube.Namespace(t, space(i), "")
	}
	objects, err := dynamic.NewForConfig(b.kube.Config)
	if err == nil {
		err = door.Apply(t.Context(), objects, "bench")
	}
	if err != nil {
		t.Fatal(err)
	}
	b.front(program)
	fmt.Printf("load of the machine at the beginning: %s\n", load())
	fmt.Println("| nodes | pods | one answer p50, p95 | of one that is not well | gone p50, p95 | all, of every namespace | front at rest | under restarts | resident | API requests a question |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	for _, n := range sizes() {
		b.grow(n)
		b.row()
	}
	fmt.Printf("load of the machine at the end: %s\n", load())
}

func space(i int) string { return fmt.Sprintf("team-%02d", i) }

func sizes() []int {
	var all []int
	for _, s := range strings.Split(os.Getenv("WHYLET_BENCH_NODES"), ",") {
		if n, err := strconv.Atoi(s); err == nil {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		all = []int{100, 300, 1000}
	}
	return all
}

// front starts the program to measure.
func (b *bench) front(program string) {
	dir := b.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, _ := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private, _ := x509.MarshalECPrivateKey(key)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	b.secure = credentials.NewTLS(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13})
	kubeconfig := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":%q,"insecure-skip-tls-verify":true}}],"users":[{"name":"u","user":{"token":%q}}]}`, b.kube.Config.Host, b.kube.Config.BearerToken)
	for name, text := range map[string][]byte{"tls.crt": cert, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), "kubeconfig": []byte(kubeconfig)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.address = l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(program, "--kubeconfig", filepath.Join(dir, "kubeconfig"), "--agents", b.address, "--listen", "",
		"--tls-cert", filepath.Join(dir, "tls.crt"), "--tls-key", filepath.Join(dir, "tls.key"), "--archive", filepath.Join(dir, "archive.db"))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.pid = cmd.Process.Pid
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// grow makes nodes, their pods and their agents until there are n.
func (b *bench) grow(n int) {
	began := time.Now()
	var g errgroup.Group
	g.SetLimit(atOnce)
	first := len(b.agents)
	for i := first; i < n; i++ {
		a := &agent{node: fmt.Sprintf("node-%04d", i)}
		b.agents = append(b.agents, a)
		g.Go(func() error { return b.node(a, i) })
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	made := time.Since(began)
	for i := first; i < n; i++ {
		g.Go(func() error {
			token, err := b.token(b.agents[i].node)
			if err != nil {
				return err
			}
			return b.agents[i].connect(b.Context(), b.address, b.secure, token)
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Minute); b.ill() < n; time.Sleep(time.Second) {
		if time.Now().After(end) {
			b.Fatalf("%d of %d agents are heard of", b.ill(), n)
		}
	}
	b.Logf("%d nodes: made in %v, connected after %v", n, made.Round(time.Second), time.Since(began).Round(time.Second))
}

func (b *bench) node(a *agent, i int) error {
	now := metav1.Now()
	node, err := b.client.CoreV1().Nodes().Create(b.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: a.node, Labels: map[string]string{
		v1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3), v1.LabelInstanceTypeStable: fmt.Sprintf("type-%d", i%5), "cloud.google.com/gke-nodepool": fmt.Sprintf("pool-%d", i%10),
	}}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: now, LastTransitionTime: now}}
	if _, err := b.client.CoreV1().Nodes().UpdateStatus(b.Context(), node, metav1.UpdateOptions{}); err != nil {
		return err
	}
	for n := range podsPerNode {
		workload := fmt.Sprintf("web-%02d", mrand.N(workloads))
		owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: workload + "-" + revision, UID: types.UID(workload), Controller: new(true)}
		p, err := b.client.CoreV1().Pods(space((i+n)%namespaces)).Create(b.Context(), &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%s-%04d-%02d", workload, revision, i, n), OwnerReferences: []metav1.OwnerReference{owner},
				Labels: map[string]string{"app": workload, "pod-template-hash": revision},
			},
			Spec: v1.PodSpec{NodeName: a.node, Containers: []v1.Container{{Name: "app", Image: "registry.example/team/app:1.2.3"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		a.pods = append(a.pods, link.Pod{Pod: fact.Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID}, Kind: "Deployment", Workload: workload, Revision: revision})
	}
	return nil
}

func (b *bench) token(node string) (string, error) {
	pod, err := b.client.CoreV1().Pods("whylet").Create(b.Context(), &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "agent-" + node},
		Spec:       v1.PodSpec{NodeName: node, ServiceAccountName: "whylet-agent", Containers: []v1.Container{{Name: "agent", Image: "agent"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	r, err := b.client.CoreV1().ServiceAccounts("whylet").CreateToken(b.Context(), "whylet-agent", &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{
		Audiences: []string{link.Audience}, BoundObjectRef: &authv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return r.Status.Token, nil
}

func (b *bench) asker(namespace string) *ask.Cluster {
	c, err := ask.Connect(b.kube.Config, ask.Options{Namespace: namespace})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// ill is of how many pods it is told that they are not well.
func (b *bench) ill() int {
	all, err := b.asker("").All(b.Context())
	if err != nil && len(all) == 0 {
		return 0
	}
	n := 0
	for i := range all {
		if len(all[i].Verdicts) > 0 && all[i].Verdicts[0].Cause == answer.MemoryLimit {
			n++
		}
	}
	return n
}

// row measures and prints one line.
func (b *bench) row() {
	rest := b.processor(calm)
	ctx, stop := context.WithCancel(b.Context())
	var restarting errgroup.Group
	restarting.Go(func() error { b.restart(ctx); return nil })
	busy := b.processor(calm)
	before := b.requests()
	there := b.ask(func() fact.Pod { a := b.agents[mrand.N(len(b.agents))]; return a.pods[mrand.N(len(a.pods)/2)].Pod })
	each := (b.requests() - before) / questions
	ill := b.ask(func() fact.Pod { return b.agents[mrand.N(len(b.agents))].pods[0].Pod })
	gone := b.gone()
	departed := b.ask(func() fact.Pod { return gone[mrand.N(len(gone))] })
	var everything []time.Duration
	for range 5 {
		began := time.Now()
		if n := b.ill(); n != len(b.agents) {
			b.Errorf("all: %d answers of %d", n, len(b.agents))
		}
		everything = append(everything, time.Since(began))
	}
	stop()
	_ = restarting.Wait()
	fmt.Printf("| %d | %d | %v, %v | %v, %v | %v, %v | %v | %d millicores | %d millicores | %d MiB | %.1f |\n", len(b.agents), len(b.agents)*podsPerNode,
		at(there, 50), at(there, 95), at(ill, 50), at(ill, 95), at(departed, 50), at(departed, 95), at(everything, 50), rest, busy, b.resident()>>20, each)
}

// restart has pods restart in bursts.
func (b *bench) restart(ctx context.Context) {
	ticker := time.NewTicker(burst * time.Second)
	defer ticker.Stop()
	for {
		for range restarts * burst {
			b.agents[mrand.N(len(b.agents))].restarted()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// ask asks about pods, four at the same time, and gives how long each took.
func (b *bench) ask(which func() fact.Pod) []time.Duration {
	took := make([]time.Duration, questions)
	var g errgroup.Group
	g.SetLimit(4)
	for i := range took {
		p := which()
		g.Go(func() error {
			began := time.Now()
			answers, err := b.asker(p.Namespace).About(b.Context(), ask.Target{Kind: "pod", Name: p.Name})
			if err != nil || len(answers) != 1 || answers[0].Subject.UID != p.UID {
				b.Errorf("%s: %v", p, err)
			}
			took[i] = time.Since(began)
			return nil
		})
	}
	_ = g.Wait()
	return took
}

// gone has some pods end, and gives them once their closing answers are acknowledged.
func (b *bench) gone() []fact.Pod {
	var all []fact.Pod
	zero := int64(0)
	for range 50 {
		a := b.agents[mrand.N(len(b.agents))]
		p := a.pods[len(a.pods)-1].Pod
		if len(a.pods) <= podsPerNode/2+1 {
			continue
		}
		a.pods = a.pods[:len(a.pods)-1]
		if err := b.client.CoreV1().Pods(p.Namespace).Delete(b.Context(), p.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
			b.Fatal(err)
		}
		had := a.kept.Load()
		a.gone(p)
		for end := time.Now().Add(30 * time.Second); a.kept.Load() == had; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				b.Fatal("a closing answer is not acknowledged")
			}
		}
		all = append(all, p)
	}
	return all
}

func at(all []time.Duration, percent int) time.Duration {
	all = slices.Clone(all)
	slices.Sort(all)
	return all[(len(all)-1)*percent/100].Round(time.Millisecond)
}

// processor is how much of one the front takes for a while, in thousandths.
func (b *bench) processor(over time.Duration) int64 {
	before := b.ticks()
	time.Sleep(over)
	return (b.ticks() - before) * 10 * 1000 / over.Milliseconds()
}

// ticks are the hundredths of a second that the front has used.
func (b *bench) ticks() int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.pid))
	if err != nil {
		b.Fatal(err)
	}
	f := strings.Fields(string(raw[strings.LastIndex(string(raw), ")")+1:]))
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return user + system
}

func (b *bench) resident() int64 {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", b.pid))
	f := strings.Fields(string(raw))
	pages, _ := strconv.ParseInt(f[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// requests are how many the API server has answered.
func (b *bench) requests() float64 {
	raw, err := b.kube.Client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	sum := 0.0
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "apiserver_request_total{") {
			n, _ := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " ")+1:]), 64)
			sum += n
		}
	}
	return sum
}

func load() string {
	raw, _ := os.ReadFile("/proc/loadavg")
	return strings.Join(strings.Fields(string(raw))[:3], " ")
}

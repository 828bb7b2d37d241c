package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"whylet.dev/whylet/cluster/pki"
)

// fakeNode is a Node object and the part of its HTTPS API that the control plane
// asks; it pretends to run pods.
type fakeNode struct {
	client kubernetes.Interface

	mu     sync.Mutex
	pods   []stats.PodStats
	asking []string // who asked for statistics
}

// register makes the node as its agent would: with the node's own credentials.
func register(t *testing.T, client kubernetes.Interface, certs *pki.Set) *fakeNode {
	t.Helper()
	n := &fakeNode{client: client}
	port := n.serve(t, certs)
	_, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{corev1.LabelHostname: "n1"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("register node: %v", err)
	}
	status := corev1.NodeStatus{
		Capacity: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("110"),
		},
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: testNodeIP}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: port}},
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Test",
			LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}},
	}
	status.Allocatable = status.Capacity
	// A patch, as kubelet sends: others set the node's taints meanwhile.
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Nodes().PatchStatus(t.Context(), "n1", patch); err != nil {
		t.Fatalf("set node status: %v", err)
	}
	return n
}

// serve answers /stats/summary to clients with a certificate of the cluster.
func (n *fakeNode) serve(t *testing.T, certs *pki.Set) int32 {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(certs.NodeServing.CertFile, certs.NodeServing.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	clients, err := cert.NewPool(certs.CA.CertFile)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", testNodeIP+":0", &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(n.summary), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return int32(listener.Addr().(*net.TCPAddr).Port)
}

func (n *fakeNode) summary(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asking = append(n.asking, r.URL.Path+" by "+r.TLS.PeerCertificates[0].Subject.CommonName)
	cpu, memory := use(250_000_000, 64<<20)
	_ = json.NewEncoder(w).Encode(stats.Summary{Node: stats.NodeStats{NodeName: "n1", CPU: cpu, Memory: memory}, Pods: n.pods})
}

func use(nanoCores, bytes uint64) (*stats.CPUStats, *stats.MemoryStats) {
	return &stats.CPUStats{Time: metav1.Now(), UsageNanoCores: &nanoCores}, &stats.MemoryStats{Time: metav1.Now(), WorkingSetBytes: &bytes}
}

// run pretends that a pod started and became ready.
func (n *fakeNode) run(ctx context.Context, pod *corev1.Pod, ip string) error {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.PodIP, pod.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
	}
	_, err := n.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	cpu, memory := use(10_000_000, 8<<20)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pods = append(n.pods, stats.PodStats{
		PodRef:     stats.PodReference{Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID)},
		Containers: []stats.ContainerStats{{Name: pod.Spec.Containers[0].Name, CPU: cpu, Memory: memory}},
	})
	return err
}

// probeFromPod is what a pod does with the two Services that every cluster has:
// it resolves names and speaks to the API under its cluster IP. Arguments are the
// authority's file and further names with the address each must resolve to.
func probeFromPod(args []string) error {
	caPEM, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(caPEM)
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	answer, err := client.Get("https://10.43.0.1/readyz")
	if err != nil {
		return fmt.Errorf("the API from a pod: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the API from a pod: %s", answer.Status)
	}
	wanted := append([]string{"kubernetes.default.svc.cluster.local", "10.43.0.1"}, args[1:]...)
	for _, network := range []string{"udp", "tcp"} {
		resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, "10.43.0.10:53")
		}}
		for i := 0; i < len(wanted); i += 2 {
			got, err := resolver.LookupHost(context.Background(), wanted[i])
			if err != nil || len(got) != 1 || got[0] != wanted[i+1] {
				return fmt.Errorf("%s over %s is %v, %w; want %s", wanted[i], network, got, err, wanted[i+1])
			}
		}
	}
	return nil
}

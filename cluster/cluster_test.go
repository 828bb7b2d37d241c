package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	migrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"whylet.dev/whylet/cluster/pki"
)

// TestControlPlane starts a control plane in a network namespace of its own and
// uses it as a user, a node and a pod would; kills it and starts it again; and
// removes it. The steps build on each other.
func TestControlPlane(t *testing.T) {
	if inNetns(t) {
		return
	}
	dir := t.TempDir()
	config := Config{DataDir: filepath.Join(dir, "data"), NodeName: "n1", NodeIP: testNodeIP, APIPort: 6443, Kubeconfig: filepath.Join(dir, "config")}
	e := &endToEnd{t: t, config: config.withDefaults()}
	e.start()
	step := func(name string, run func(*testing.T)) {
		t.Helper()
		if !t.Run(name, run) {
			e.printLog()
			t.FailNow()
		}
	}
	step("a user gets what Kubernetes has at birth", e.birth)
	step("RBAC and NodeRestriction hold", e.refusals)
	step("a node registers and pods are scheduled to it", e.schedule)
	step("a Service gets endpoints and a name", e.service)
	step("a pod reaches the API and DNS", e.fromPod)
	step("what is protected while in use can be deleted", e.protection)
	step("a migration of stored objects is taken up", e.migration)
	step("a claim gets a directory, and a StorageClass that is no default any more stays so", e.storage)
	step("a Service of type LoadBalancer gets the node's address, and its port is nobody else's", e.loadBalancer)
	step("metrics come from the node", e.metrics)
	step("a second start and a purge are refused", e.secondStart)
	step("after kill -9, also amid a start, everything is still there", e.killAndRestart)
	step("it stops within seconds", e.stop)
	step("purge leaves nothing", e.purge)
}

// endToEnd is the state that the steps of TestControlPlane hand on.
type endToEnd struct {
	t      *testing.T
	config Config
	server *child
	certs  *pki.Set
	admin  kubernetes.Interface
	node   *fakeNode

	deployment types.UID
	serviceIP  string
}

// start runs the control plane and makes a client from the kubeconfig it wrote.
func (e *endToEnd) start() {
	e.t.Helper()
	e.server = startChild(e.t, childServe, e.config)
	e.server.expect("ready")
	e.server.expect("dns")
	e.admin = kubernetes.NewForConfigOrDie(e.adminConfig())
	var err error
	e.certs, err = pki.Ensure(e.config.paths().pki, certHosts(e.config), time.Now())
	if err != nil || len(e.certs.Renewed) > 0 {
		e.t.Fatalf("the control plane's certificates are not complete: %v, %v", e.certs.Renewed, err)
	}
}

func (e *endToEnd) adminConfig() *rest.Config {
	e.t.Helper()
	admin, err := clientcmd.BuildConfigFromFlags("", e.config.Kubeconfig)
	if err != nil {
		e.t.Fatal(err)
	}
	return admin
}

func (e *endToEnd) nodeConfig() *rest.Config {
	c := &Cluster{config: e.config, certs: e.certs}
	return c.NodeREST()
}

// eventually waits until check holds, and fails with its last words otherwise.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v (%v)", what, last, err)
	}
}

func (e *endToEnd) birth(t *testing.T) {
	version, err := e.admin.Discovery().ServerVersion()
	if err != nil || !strings.HasPrefix(version.GitVersion, "v1.") {
		t.Errorf("server version is %v, %v", version, err)
	}
	eventually(t, "default service account", func(ctx context.Context) error {
		_, err := e.admin.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	eventually(t, "root certificate for pods", func(ctx context.Context) error {
		_, err := e.admin.CoreV1().ConfigMaps("default").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err
	})
	eventually(t, "trust bundle of the API server, which nodes may read", func(ctx context.Context) error {
		bundles, err := kubernetes.NewForConfigOrDie(e.nodeConfig()).CertificatesV1().ClusterTrustBundles().List(ctx, metav1.ListOptions{})
		if err == nil && (len(bundles.Items) != 1 || bundles.Items[0].Spec.SignerName != "kubernetes.io/kube-apiserver-serving") {
			err = fmt.Errorf("%d bundles", len(bundles.Items))
		}
		return err
	})
	eventually(t, "kubernetes Service's endpoint", func(ctx context.Context) error {
		slices, err := e.admin.DiscoveryV1().EndpointSlices("default").List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=kubernetes"})
		if err == nil && (len(slices.Items) != 1 || len(slices.Items[0].Endpoints) != 1 || slices.Items[0].Endpoints[0].Addresses[0] != DefaultHostAddress) {
			err = errors.New("not the host address alone")
		}
		return err
	})
}

func (e *endToEnd) refusals(t *testing.T) {
	anonymous := rest.AnonymousClientConfig(e.nodeConfig())
	_, err := kubernetes.NewForConfigOrDie(anonymous).CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("anonymous may list Secrets: %v", err)
	}
	front := kubernetes.NewForConfigOrDie(AsFront(e.adminConfig()))
	if _, err := front.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("without the role of a front who answers questions may list pods: %v", err)
	}
	if raw, err := front.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes/n0/proxy/why").Do(t.Context()).Raw(); apierrors.IsForbidden(err) {
		t.Errorf("who answers questions may not ask nodes: %v %s", err, raw)
	}
	for _, resource := range []string{"configmaps", "secrets"} {
		if raw, err := front.CoreV1().RESTClient().Get().Namespace("kube-system").Resource(resource).Do(t.Context()).Raw(); !apierrors.IsForbidden(err) {
			t.Errorf("who answers questions may list %s: %v %s", resource, err, raw)
		}
	}
	node := kubernetes.NewForConfigOrDie(e.nodeConfig())
	if _, err = node.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a node may list Secrets: %v", err)
	}
	_, err = node.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("a node may register another: %v", err)
	}
}

func (e *endToEnd) schedule(t *testing.T) {
	// The parent's t: the node's server must outlive this step.
	e.node = register(e.t, kubernetes.NewForConfigOrDie(e.nodeConfig()), e.certs)
	replicas, labels := int32(2), map[string]string{"app": "web"}
	deployment, err := e.admin.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e.deployment = deployment.UID
	eventually(t, "two pods scheduled to the node", func(ctx context.Context) error {
		pods, err := e.pods(ctx)
		if err == nil && (len(pods) != 2 || pods[0].Spec.NodeName != "n1" || pods[1].Spec.NodeName != "n1") {
			err = errors.New("not there yet")
		}
		return err
	})
}

func (e *endToEnd) pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := e.admin.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (e *endToEnd) service(t *testing.T) {
	service, err := e.admin.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "web"},
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(80)}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e.serviceIP = service.Spec.ClusterIP
	pods, err := e.pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := e.node.run(t.Context(), &pods[0], testPodIP); err != nil {
		t.Fatalf("the node may not report its pod: %v", err)
	}
	eventually(t, "one ready endpoint", func(ctx context.Context) error {
		slices, err := e.admin.DiscoveryV1().EndpointSlices("default").List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=web"})
		if err != nil {
			return err
		}
		for _, slice := range slices.Items {
			for _, endpoint := range slice.Endpoints {
				if endpoint.Addresses[0] == testPodIP && *endpoint.Conditions.Ready {
					return nil
				}
			}
		}
		return errors.New("the ready pod is not among them")
	})
}

func (e *endToEnd) fromPod(t *testing.T) {
	eventually(t, "a pod's use of the API and DNS", func(context.Context) error {
		probe := inPod(t, os.Args[0], e.certs.CA.CertFile, "web.default.svc.cluster.local", e.serviceIP)
		probe.Env = append(os.Environ(), childEnv+"="+childProbe)
		if out, err := probe.CombinedOutput(); err != nil {
			return errors.Join(err, errors.New(string(out)))
		}
		return nil
	})
}

// The API server's admission gives these a finalizer, which a controller takes away.
func (e *endToEnd) protection(t *testing.T) {
	classes := e.admin.StorageV1().VolumeAttributesClasses()
	class := &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: "example.org", Parameters: map[string]string{"iops": "1"}}
	if _, err := classes.Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := classes.Delete(t.Context(), class.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the VolumeAttributesClass is gone", func(ctx context.Context) error {
		_, err := classes.Get(ctx, class.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is still there"), err)
	})
}

func (e *endToEnd) migration(t *testing.T) {
	migrations := e.admin.StoragemigrationV1().StorageVersionMigrations()
	_, err := migrations.Create(t.Context(), &migrationv1.StorageVersionMigration{
		ObjectMeta: metav1.ObjectMeta{Name: "maps"}, Spec: migrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Resource: "configmaps"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The end of it takes more than a minute.
	eventually(t, "the version up to which ConfigMaps are to be migrated", func(ctx context.Context) error {
		m, err := migrations.Get(ctx, "maps", metav1.GetOptions{})
		if err == nil && m.Status.ResourceVersion == "" {
			err = fmt.Errorf("%+v", m.Status)
		}
		return err
	})
}

func (e *endToEnd) metrics(t *testing.T) {
	get := func(path string, into any) {
		t.Helper()
		raw, err := e.admin.CoreV1().RESTClient().Get().AbsPath("/apis/metrics.k8s.io/" + path).DoRaw(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := json.Unmarshal(raw, into); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	for _, version := range []string{"v1", "v1beta1"} {
		var nodes metricsv1beta1.NodeMetricsList
		get(version+"/nodes", &nodes)
		if len(nodes.Items) != 1 || nodes.Items[0].Usage.Cpu().MilliValue() != 250 || nodes.Items[0].Usage.Memory().Value() != 64<<20 {
			t.Errorf("%s: nodes: %+v", version, nodes.Items)
		}
	}
	var pods metricsv1beta1.PodMetricsList
	get("v1beta1/namespaces/default/pods", &pods)
	if len(pods.Items) != 1 || pods.Items[0].Containers[0].Usage.Cpu().MilliValue() != 10 {
		t.Errorf("pods: %+v", pods.Items)
	}
	e.node.mu.Lock()
	defer e.node.mu.Unlock()
	for _, asked := range e.node.asking {
		if asked != "/stats/summary by "+pki.KubeletClientUser {
			t.Errorf("the node was asked %s", asked)
		}
	}
}

func (e *endToEnd) secondStart(t *testing.T) {
	same := startChild(t, childServe, e.config)
	if said := same.expect("error InUse"); !strings.Contains(said, "whylet down") {
		t.Errorf("on the same directory: %s", said)
	}
	purging := startChild(t, childPurge, e.config)
	purging.expect("error InUse")
	other := e.config
	other.DataDir = filepath.Join(t.TempDir(), "other")
	elsewhere := startChild(t, childServe, other)
	if said := elsewhere.expect("error PortTaken"); !strings.Contains(said, "127.0.0.1:6443") || !strings.Contains(said, "process ") {
		t.Errorf("on the same port: %s", said)
	}
}

func (e *endToEnd) killAndRestart(t *testing.T) {
	e.server.kill()
	before := e.certs.CA.Cert()
	for _, after := range []time.Duration{50, 300, 700, 1500} {
		// The moment itself is what is tried; nothing is waited for.
		starting := startChild(t, childServe, e.config)
		time.Sleep(after * time.Millisecond)
		starting.kill()
	}
	e.start()
	if !e.certs.CA.Cert().Equal(before) {
		t.Error("the authority changed")
	}
	deployment, err := e.admin.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || deployment.UID != e.deployment {
		t.Fatalf("the deployment is %v, %v", deployment, err)
	}
	service, err := e.admin.CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || service.Spec.ClusterIP != e.serviceIP {
		t.Errorf("the Service is %v, %v", service, err)
	}
	class, err := e.admin.StorageV1().StorageClasses().Get(t.Context(), storageClass, metav1.GetOptions{})
	if err != nil || class.Annotations[defaultClass] != "false" {
		t.Errorf("the StorageClass that was no default any more is %v, %v", class, err)
	}
	e.fromPod(t)
}

func (e *endToEnd) stop(t *testing.T) {
	if took := e.server.terminate(); took > 8*time.Second {
		t.Errorf("it took %v", took)
	} else {
		t.Logf("stopped in %v", took)
	}
}

func (e *endToEnd) purge(t *testing.T) {
	for range 2 { // the second time there is nothing left to remove
		if out := startChild(t, childPurge, e.config); out.cmd.Wait() != nil {
			t.Fatalf("purge failed: %s", <-out.lines)
		}
	}
	if tables, err := exec.Command("nft", "list", "tables").CombinedOutput(); err != nil || len(strings.TrimSpace(string(tables))) > 0 {
		t.Errorf("nftables: %s, %v", tables, err)
	}
	if out, err := exec.Command("ip", "link", "show", linkName).CombinedOutput(); err == nil {
		t.Errorf("interface left: %s", out)
	}
	if entries, err := os.ReadDir(e.config.DataDir); err != nil || len(entries) > 0 {
		t.Errorf("files left: %v, %v", entries, err)
	}
	if _, err := os.Stat(e.config.Kubeconfig); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("kubeconfig left: %v", err)
	}
}

// printLog shows the end of the components' log, to explain a failure.
func (e *endToEnd) printLog() {
	data, err := os.ReadFile(e.config.paths().log())
	if err != nil {
		return
	}
	e.t.Logf("end of the control plane's log:\n%s", data[max(0, len(data)-8000):])
}

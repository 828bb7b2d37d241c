package command

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"whylet.dev/whylet/mesh"
	"whylet.dev/whylet/mesh/webhook"
)

var errUsage = errors.New("usage")

// run runs a command line in this process.
func run(t *testing.T, stdin string, args ...string) (out string, err error) {
	t.Helper()
	var o bytes.Buffer
	cmd := New(Env{
		In: strings.NewReader(stdin), Out: &o, Err: &o, DataDir: "/nowhere",
		Usage: func(err error) error { return errors.Join(errUsage, err) },
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	cmd.SetOut(&o)
	cmd.SetErr(&o)
	err = cmd.ExecuteContext(t.Context())
	return o.String(), err
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - name: app
        image: app
        livenessProbe: {httpGet: {path: /live, port: 80}}
        readinessProbe: {grpc: {port: 90}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
`

func TestRender(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want []string
		not  []string
	}{
		{nil, []string{"path: /osm-liveness-probe/app", "path: /osm-readiness-probe/app", "name: whylet-mesh-init", "restartPolicy: Always", "kind: ConfigMap", "---"}, []string{"grpc:"}},
		{[]string{"--compat", "osm-edge"}, []string{"path: /osm-liveness-probe\n", "grpc:"}, []string{"/app\n"}},
		{[]string{"--probes-only"}, []string{"name: whylet-mesh\n"}, []string{"whylet-mesh-init"}},
		{[]string{"--proxy-config"}, []string{`"LivenessProbes": [`, `"StartupProbes": null`}, []string{"ConfigMap", "kind:"}},
	} {
		out, err := run(t, deployment, append([]string{"render", "-f", "-"}, tt.args...)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(out, want) {
				t.Errorf("%v: %q is missing in\n%s", tt.args, want, out)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(out, not) {
				t.Errorf("%v: %q is in\n%s", tt.args, not, out)
			}
		}
	}
	// What was rendered is rendered again to the same.
	once, err := run(t, deployment, "render", "-f", "-")
	if err != nil {
		t.Fatal(err)
	}
	if twice, err := run(t, once, "render", "-f", "-"); err != nil || twice != once {
		t.Errorf("rendering again gives\n%s %v", twice, err)
	}
}

func TestCommandLineErrors(t *testing.T) {
	for _, args := range [][]string{
		{"render"},
		{"render", "-f", "-", "--compat", "what"},
		{"image"},
		{"check"},
		{"check", "node/x"},
		{"check", "x", "-o", "xml"},
		{"enable"},
		{"webhook"},
		{"check", "x", "--data-dir", "/nowhere"},
	} {
		if _, err := run(t, "", args...); !errors.Is(err, errUsage) {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, err := run(t, "kind: ConfigMap\n", "render", "-f", "-"); err == nil || errors.Is(err, errUsage) {
		t.Errorf("rendering nothing: %v", err)
	}
	t.Setenv(mesh.ConfigEnv, "{")
	if _, err := run(t, "", "sidecar"); err == nil || !strings.Contains(err.Error(), mesh.ConfigEnv) {
		t.Errorf("a sidecar without configuration: %v", err)
	}
}

func TestImage(t *testing.T) {
	dir := t.TempDir()
	binary, archive := filepath.Join(dir, "whylet-mesh"), filepath.Join(dir, "mesh.tar")
	if err := os.WriteFile(binary, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, "", "image", "--to", archive, "--binary", binary, "--tag", "example/mesh:1")
	if err != nil || out != "example/mesh:1\n" {
		t.Fatalf("%q, %v", out, err)
	}
	if _, err := os.Stat(archive); err != nil {
		t.Error(err)
	}
	if _, err := run(t, "", "image", "--to", archive); err == nil || !strings.Contains(err.Error(), "whylet-mesh") {
		t.Errorf("without the program: %v", err)
	}
}

// TestEnable installs the control plane, and stands in for it: once the Deployment
// is there, the webhook is registered and a replica ready.
func TestEnable(t *testing.T) {
	client := fake.NewClientset(
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
		&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "plane", Namespace: meshNamespace, Labels: labels}},
	)
	client.PrependReactor("get", "mutatingwebhookconfigurations", func(clienttesting.Action) (bool, runtime.Object, error) {
		deployments := appsv1.SchemeGroupVersion.WithResource("deployments")
		object, err := client.Tracker().Get(deployments, meshNamespace, serviceName)
		if err != nil {
			return false, nil, nil
		}
		d := object.(*appsv1.Deployment)
		d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas = 1, 1, 1
		if err := client.Tracker().Update(deployments, d, meshNamespace); err != nil {
			return true, nil, err
		}
		return true, &admissionregistration.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: webhook.ConfigurationName}}, nil
	})
	var said bytes.Buffer
	o := enableOptions{access: access{env: Env{Err: &said}}, image: "mesh:1", wait: 10 * time.Second}
	label := func() string {
		ns, err := client.CoreV1().Namespaces().Get(t.Context(), "shop", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return ns.Labels[mesh.InjectKey]
	}
	if err := o.run(t.Context(), client, "shop", mesh.Default); err != nil {
		t.Fatal(err)
	}
	d, err := client.AppsV1().Deployments(meshNamespace).Get(t.Context(), serviceName, metav1.GetOptions{})
	if err != nil || d.Spec.Template.Spec.Containers[0].Image != "mesh:1" {
		t.Errorf("%+v, %v", d, err)
	}
	if label() != mesh.Enabled || !strings.Contains(said.String(), "rollout restart") {
		t.Errorf("label %q, said %q", label(), said.String())
	}
	o.off = true
	if err := o.run(t.Context(), client, "shop", mesh.Default); err != nil || label() != mesh.Disabled {
		t.Errorf("label %q, %v", label(), err)
	}
	if err := o.uninstall(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), meshNamespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) || !strings.Contains(said.String(), "-n shop") {
		t.Errorf("after uninstalling: %v; said %q", err, said.String())
	}
	o.off = false
	for _, name := range []string{"kube-system", meshNamespace, "nowhere"} {
		if err := o.run(t.Context(), client, name, mesh.Default); err == nil {
			t.Errorf("%s was put into the mesh", name)
		}
	}
}

package command

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes/fake"

	"whylet.dev/whylet/deploy"
)

// run runs one of the commands without a cluster.
func run(t *testing.T, in string, args ...string) (out, errs string, err error) {
	t.Helper()
	t.Setenv("KUBECONFIG", "/nowhere")
	var o, e bytes.Buffer
	for _, cmd := range New(Env{In: strings.NewReader(in), Out: &o, Err: &e, Version: "v1"}) {
		if cmd.Name() == args[0] {
			cmd.SilenceUsage, cmd.SilenceErrors = true, true
			cmd.SetArgs(args[1:])
			err = cmd.ExecuteContext(t.Context())
		}
	}
	return o.String(), e.String(), err
}

func TestDryRun(t *testing.T) {
	out, _, err := run(t, "", "install", "--dry-run")
	if err != nil || !strings.Contains(out, "  DaemonSet whylet-agent in whylet\n") {
		t.Errorf("%q, %v", out, err)
	}
	out, _, err = run(t, "", "install", "--dry-run", "-o", "yaml", "-n", "eyes", "--registry", "my.own/x", "--tag", "2")
	if err != nil || !strings.Contains(out, "namespace: eyes") || !strings.Contains(out, "image: my.own/x/front:2") || !strings.Contains(out, "kind: Secret") {
		t.Errorf("%q, %v", out, err)
	}
}

func TestAsksBefore(t *testing.T) {
	for in, want := range map[string]string{"": "nobody answered", "n\n": "nothing was changed", "what?\n": "nothing was changed"} {
		_, errs, err := run(t, in, "install")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(errs, "DaemonSet whylet-agent") {
			t.Errorf("%q: %v, %q", in, err, errs)
		}
	}
	for _, args := range [][]string{{"install", "--dry-run=maybe"}, {"install", "--dry-run", "--digest", "front=latest"}, {"install", "--dry-run", "--runtime-endpoint", "/run/crio.sock"}, {"install", "-n", "No Name", "--dry-run"}, {"doctor", "x"}} {
		if _, _, err := run(t, "", args...); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}

func TestDoctor(t *testing.T) {
	var out bytes.Buffer
	flags := genericclioptions.NewConfigFlags(false)
	o := &options{Env: Env{Out: &out}, config: flags}
	if err := o.doctor(t.Context(), fake.NewClientset()); err != nil || !strings.Contains(out.String(), "kubectl why install") {
		t.Errorf("without agents: %q, %v", out.String(), err)
	}
	labels := map[string]string{"app": "agent"}
	node := func(name string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"karpenter.sh/nodepool": "large"}}}
	}
	client := fake.NewClientset(node("a"), node("b"),
		&appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Name: deploy.Agent, Namespace: deploy.Namespace},
			Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
		},
		&v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: deploy.Namespace, Labels: labels}, Spec: v1.PodSpec{NodeName: "a"},
			Status: v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}},
		})
	out.Reset()
	if err := o.doctor(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"large (2 nodes)", "not known", "seen on a", "no agent on b: none was made for it (answers are of level 0: the API server alone)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

// TestPool: nodes that see the same are told of once.
func TestPool(t *testing.T) {
	p := &pool{name: "large", nodes: make([]*v1.Node, 3), looked: map[string][]sight{"b": keen, "a": keen, "c": {blind}}}
	got := p.String()
	for _, want := range []string{"large (3 nodes)", "agents see the container runtime, the kernel, every probe attempt\n", "seen on a, b\n", "agents see the API server alone, not the container runtime, the kernel, every probe attempt\n    no   container runtime", "seen on c\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

// TestRenewal: an authority is kept until its last year or until it is asked for, and with a
// new one comes a webhook that knows it, if there is one.
func TestRenewal(t *testing.T) {
	there := func(age time.Duration, more ...runtime.Object) *fake.Clientset {
		made, err := deploy.Certificate(deploy.Namespace, time.Now().Add(-age), "")
		if err != nil {
			t.Fatal(err)
		}
		var pair v1.Secret
		var known v1.ConfigMap
		for i, to := range []any{&pair, &known} {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(made[i].Object, to); err != nil {
				t.Fatal(err)
			}
		}
		return fake.NewClientset(append(more, &pair, &known)...)
	}
	webhook := &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: deploy.WebhookKey, Namespace: deploy.Namespace}, Data: map[string][]byte{"key": []byte("k")}}
	const year = 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		client           *fake.Clientset
		renew, deletions bool
		want             []string
	}{
		"young":                {there(0), false, false, nil},
		"in its last year":     {there(4*year + year/2), false, false, []string{"Secret", "ConfigMap"}},
		"made for a century":   {there(-95 * year), false, false, []string{"Secret", "ConfigMap"}}, // by a release before
		"asked for":            {there(0), true, false, []string{"Secret", "ConfigMap"}},
		"with a webhook":       {there(100*year, webhook), false, false, []string{"Secret", "ConfigMap", "Secret", "ValidatingWebhookConfiguration"}},
		"a webhook besides":    {there(0), false, true, []string{"Secret", "ValidatingWebhookConfiguration"}},
		"there is none so far": {fake.NewClientset(), false, false, []string{"Made"}},
	} {
		o := &install{options: options{config: genericclioptions.NewConfigFlags(false)}, renew: c.renew, deletions: c.deletions}
		first, made := &unstructured.Unstructured{Object: map[string]any{"kind": "Namespace"}}, &unstructured.Unstructured{Object: map[string]any{"kind": "Made"}}
		all, err := o.withSecrets(t.Context(), c.client, []*unstructured.Unstructured{first}, []*unstructured.Unstructured{made})
		var kinds []string
		for _, object := range all {
			kinds = append(kinds, object.GetKind())
		}
		if err != nil || !slices.Equal(kinds, append([]string{"Namespace"}, c.want...)) {
			t.Errorf("%s: %v %v", name, kinds, err)
		}
	}
}

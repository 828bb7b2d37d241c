package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes/fake"

	"whylet.dev/whylet/deploy"
)

var agentLabels = map[string]string{"app": "agent"}

// agents are a DaemonSet that is wanted on some nodes.
func agents(name string, nodes, ready int32) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: deploy.Namespace, UID: "1", Generation: 1},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: agentLabels}},
		Status:     appsv1.DaemonSetStatus{DesiredNumberScheduled: nodes, UpdatedNumberScheduled: nodes, NumberReady: ready, ObservedGeneration: 1},
	}
}

func onNode(node string, status v1.PodStatus) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod-" + node, Namespace: deploy.Namespace, Labels: agentLabels},
		Spec:       v1.PodSpec{NodeName: node, Containers: []v1.Container{{Image: "whylet.dev/observe:v1"}}}, Status: status,
	}
}

func waiting(reason, message string) v1.PodStatus {
	return v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Image: "whylet.dev/observe:v1", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason, Message: message}}}}}
}

var (
	ready   = v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}
	backOff = waiting("ImagePullBackOff", "Back-off pulling image \"whylet.dev/observe:v1\":\nlookup whylet.dev: no such host")
)

const pullFails = "ImagePullBackOff whylet.dev/observe:v1: Back-off pulling image \"whylet.dev/observe:v1\": lookup whylet.dev: no such host"

// TestLate: who is not ready in time is named with node and reason.
func TestLate(t *testing.T) {
	client := fake.NewClientset(agents("agent", 2, 1), onNode("a", ready), onNode("b", waiting("ErrImagePull", "no such host")))
	r := rollout{client: client, namespace: deploy.Namespace, name: "agent", what: "agents", say: func(string, ...any) {}}
	late, err := r.wait(t.Context(), 10*time.Millisecond)
	if err != nil || len(late) != 1 || late[0] != "b: ErrImagePull whylet.dev/observe:v1: no such host" {
		t.Errorf("%q, %v", late, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.wait(ctx, time.Minute); err == nil {
		t.Error("told to end, it says that it waited")
	}
}

// TestAnImageThatCannotCome is told at once with its name and why, and ends the wait where
// waiting is of no use.
func TestAnImageThatCannotCome(t *testing.T) {
	for name, c := range map[string]struct {
		pods      []*v1.Pod
		impatient bool
		late      []string // nil: it waits on
	}{
		"on all nodes":                     {[]*v1.Pod{onNode("a", backOff), onNode("b", backOff)}, false, []string{"a, b: " + pullFails}},
		"on one, while one has it":         {[]*v1.Pod{onNode("a", ready), onNode("b", backOff)}, false, nil},
		"the same, and nobody waits":       {[]*v1.Pod{onNode("a", ready), onNode("b", backOff)}, true, []string{"b: " + pullFails}},
		"at the first attempt":             {[]*v1.Pod{onNode("a", waiting("ErrImagePull", "x")), onNode("b", backOff)}, true, nil},
		"while another pod does not exist": {[]*v1.Pod{onNode("b", backOff)}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(agents("agent", 2, 0))
			for _, p := range c.pods {
				if err := client.Tracker().Add(p); err != nil {
					t.Fatal(err)
				}
			}
			var said strings.Builder
			within := time.Hour
			if c.late == nil {
				within = 10 * time.Millisecond
			}
			r := rollout{
				client: client, namespace: deploy.Namespace, name: "agent", what: "agents", impatient: c.impatient, every: time.Millisecond,
				say: func(format string, args ...any) { fmt.Fprintf(&said, format, args...) },
			}
			late, err := r.wait(t.Context(), within)
			if err != nil || c.late != nil && !slices.Equal(late, c.late) {
				t.Errorf("%q, %v", late, err)
			}
			if n := strings.Count(said.String(), "agents: "+pullFails+"\n"); n != 1 {
				t.Errorf("told %d times:\n%s", n, said.String())
			}
		})
	}
}

// TestInstallNamesTheImage: install ends with the image, the reason and the next step, of
// agents and front.
func TestInstallNamesTheImage(t *testing.T) {
	front := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: deploy.Front, Namespace: deploy.Namespace},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: agentLabels}},
	}
	client := fake.NewClientset(agents(deploy.Agent, 1, 0), front, onNode("a", backOff))
	var said strings.Builder
	o := &install{options: options{Env: Env{Err: &said}, config: genericclioptions.NewConfigFlags(false), wait: time.Hour}}
	err := o.ready(t.Context(), client)
	if err == nil || strings.Count(err.Error(), pullFails) != 2 || !strings.Contains(err.Error(), "--registry REGISTRY") {
		t.Errorf("%v", err)
	}
}

// TestUninstallWithoutAnImage: where no agent ever had a container there is no folder, and
// nothing to pull an image for; else the pods that clean take an image that nodes have.
func TestUninstallWithoutAnImage(t *testing.T) {
	first := agents(deploy.Agent, 1, 0)
	second := first.DeepCopy()
	second.Generation = 2
	kubelets := first.DeepCopy()
	kind := v1.HostPathDirectoryOrCreate
	kubelets.Spec.Template.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/x/y", Type: &kind}}}}
	crashed := waiting("CrashLoopBackOff", "")
	crashed.ContainerStatuses[0].ContainerID = "containerd://1"
	running := v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{ContainerID: "containerd://1", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}}
	for name, c := range map[string]struct {
		agent *appsv1.DaemonSet
		pod   *v1.Pod
		want  beginnings
	}{
		"it never came":                      {first, onNode("a", backOff), beginnings{nowhere: true}},
		"an earlier revision may have run":   {second, onNode("a", backOff), beginnings{}},
		"kubelet made the folder":            {kubelets, onNode("a", backOff), beginnings{}},
		"it ran":                             {first, onNode("a", crashed), beginnings{}},
		"it runs":                            {first, onNode("a", running), beginnings{image: "whylet.dev/observe:v1"}},
		"its image is there":                 {first, onNode("a", waiting("ContainerCreating", "")), beginnings{}},
		"kubelet has said nothing yet":       {first, onNode("a", v1.PodStatus{}), beginnings{}},
		"no pod is there yet, or any more":   {first, &v1.Pod{}, beginnings{}},
		"the agents were removed by someone": {&appsv1.DaemonSet{}, onNode("a", backOff), beginnings{}},
	} {
		o := &uninstall{options{config: genericclioptions.NewConfigFlags(false)}}
		if got, err := o.began(t.Context(), fake.NewClientset(c.pod), c.agent); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestLateOnManyNodes: a thousand nodes with one trouble are one line.
func TestLateOnManyNodes(t *testing.T) {
	var pods []v1.Pod
	for i := range 1000 {
		pods = append(pods, *onNode(fmt.Sprintf("node-%03d", i), backOff))
	}
	late := latePods(append(pods, *onNode("other", waiting("ErrImagePull", "x"))), progress{want: 1001})
	want := "node-000, node-001, node-002, node-003, node-004, node-005, node-006, node-007, node-008, node-009 and 990 more: " + pullFails
	if len(late) != 2 || late[1] != want {
		t.Errorf("%q", late)
	}
}

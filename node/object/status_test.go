package object

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

var day = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

func testConfig() Config {
	return Config{
		Name: "n1", IP: "192.0.2.1", Labels: map[string]string{"disk": "ssd"}, Port: 10250, Declares: []string{"b", "a"}, Version: "v0.3.1",
		Reserve: Reserve{
			Memory: 4 << 30, Kept: v1.ResourceList{"memory": resource.MustParse("256Mi")}, EvictionMemory: DefaultEvictionMemory,
			EvictionDisk: DefaultEvictionDisk, MaxPods: 110,
		},
	}
}

// golden compares an object, and what was told of it, with a file.
func golden(t *testing.T, name string, node *v1.Node, events []Event) {
	t.Helper()
	text, err := yaml.Marshal(node)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		text = append(text, "# "+e.Type+" "+e.Reason+": "+e.Message+"\n"...)
	}
	path := filepath.Join("testdata", name+".yaml")
	// All that depends on where the test runs is the architecture.
	text = bytes.ReplaceAll(text, []byte(runtime.GOARCH+"\n"), []byte("ARCH\n"))
	if *rewrite {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, want) {
		t.Errorf("%s differs (-rewrite accepts):\n%s", path, text)
	}
}

func TestNewNode(t *testing.T) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	events := testConfig().fill(node, seen{
		machine: recorded(t), now: day,
		state: State{Problems: []string{RuntimeNotSeen, NetworkNotSeen}},
	})
	golden(t, "new", node, events)
}

func TestReadyNode(t *testing.T) {
	yes := true
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	c := testConfig()
	c.fill(node, seen{machine: recorded(t), now: day, state: State{Problems: []string{RuntimeNotSeen}}})
	events := c.fill(node, seen{
		machine: recorded(t), now: metav1.NewTime(day.Add(time.Minute)),
		images: []v1.ContainerImage{
			{Names: []string{"pause:3"}, SizeBytes: 300},
			{Names: []string{"n@sha256:1", "nginx:1", "nginx:2", "nginx:3", "nginx:4", "nginx:5"}, SizeBytes: 70000},
		},
		state: State{
			DiskPressure: true,
			Runtime:      "containerd://2.3.7",
			Handlers:     []v1.NodeRuntimeHandler{{Name: "runc", Features: &v1.NodeRuntimeHandlerFeatures{UserNamespaces: &yes}}},
			Features:     &v1.NodeFeatures{SupplementalGroupsPolicy: &yes},
			Conditions:   []v1.NodeCondition{{Type: "JournalDegraded", Status: v1.ConditionTrue, Reason: "DiskFull", Message: "no space left on device"}},
		},
	})
	golden(t, "ready", node, events)
}

// A node that another agent kept, before a reboot, with more on it than is ours.
func TestTakenOverNode(t *testing.T) {
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "u", Labels: map[string]string{"zone": "a", v1.LabelHostname: "old"}},
		Spec:       v1.NodeSpec{PodCIDR: "10.0.0.0/24", Unschedulable: true},
		Status: v1.NodeStatus{
			Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "192.0.2.99"}},
			Conditions: []v1.NodeCondition{
				{Type: v1.NodeReady, Status: v1.ConditionUnknown, Reason: "NodeStatusUnknown", LastTransitionTime: day},
				{Type: v1.NodeNetworkUnavailable, Status: v1.ConditionFalse, Reason: "RouteCreated", LastTransitionTime: day},
				{Type: v1.NodeMemoryPressure, Status: v1.ConditionFalse, LastTransitionTime: day},
			},
			NodeInfo: v1.NodeSystemInfo{BootID: "before", ContainerRuntimeVersion: "containerd://2.0.0"},
		},
	}
	events := testConfig().fill(node, seen{machine: recorded(t), now: metav1.NewTime(day.Add(time.Hour))})
	golden(t, "takenover", node, events)
}

func TestImagesAreBoundedAndInOneOrder(t *testing.T) {
	var images []v1.ContainerImage
	for i := range 60 {
		images = append(images, v1.ContainerImage{Names: []string{"i" + strconv.Itoa(100+i)}, SizeBytes: int64(i / 2)})
	}
	got := largest(images)
	slices.Reverse(images)
	again := largest(images)
	if len(got) != 50 || got[0].SizeBytes != 29 || got[0].Names[0] != "i158" {
		t.Errorf("%d, first %+v", len(got), got[0])
	}
	if !slices.EqualFunc(got, again, func(a, b v1.ContainerImage) bool { return a.Names[0] == b.Names[0] }) {
		t.Error("the order depends on the order of asking")
	}
}

func TestWhatCountsAsADifference(t *testing.T) {
	c := testConfig()
	s := seen{machine: recorded(t), now: day}
	base := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	c.fill(base, s)
	for name, x := range map[string]struct {
		change func(*v1.Node, *seen)
		want   bool
	}{
		"time passes":        {func(_ *v1.Node, s *seen) { s.now = metav1.NewTime(day.Add(time.Hour)) }, false},
		"pressure":           {func(_ *v1.Node, s *seen) { s.state.MemoryPressure = true }, true},
		"another problem":    {func(_ *v1.Node, s *seen) { s.state.Problems = []string{"x"} }, true},
		"an image":           {func(_ *v1.Node, s *seen) { s.images = []v1.ContainerImage{{Names: []string{"a"}}} }, true},
		"a label is put off": {func(n *v1.Node, _ *seen) { delete(n.Labels, v1.LabelOSStable) }, true},
		"a label is put on":  {func(n *v1.Node, _ *seen) { n.Labels["mine"] = "x" }, false},
		"others' order of conditions": {func(n *v1.Node, _ *seen) {
			slices.Reverse(n.Status.Conditions)
		}, false},
		"declared unknown": {func(n *v1.Node, _ *seen) {
			conditionOf(&n.Status, v1.NodeReady).Status = v1.ConditionUnknown
		}, true},
	} {
		node, now := base.DeepCopy(), s
		x.change(node, &now)
		next := node.DeepCopy()
		c.fill(next, now)
		if got := differs(node, next); got != x.want {
			t.Errorf("%s: differs %v, want %v", name, got, x.want)
		}
	}
}

// Whatever comes: Ready is there and says why not, transition times never move
// without a turn, events tell exactly the turns, and others' conditions stay.
func TestConditions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		status := &v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: "Theirs", Status: "Odd"}}}
		now := day
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			before := status.DeepCopy()
			now = metav1.NewTime(now.Add(time.Second))
			s := State{
				Problems:       rapid.SliceOfN(rapid.StringN(1, 9, -1), 0, 3).Draw(t, "problems"),
				MemoryPressure: rapid.Bool().Draw(t, "memory"), DiskPressure: rapid.Bool().Draw(t, "disk"), PIDPressure: rapid.Bool().Draw(t, "pid"),
			}
			events := setConditions("n1", status, s, now)
			turned := 0
			for _, c := range status.Conditions {
				old := conditionOf(before, c.Type)
				switch {
				case c.Type == "Theirs":
					if c != *old {
						t.Fatalf("touched: %+v", c)
					}
				case old == nil || old.Status != c.Status:
					if old != nil || c.Type != v1.NodeReady {
						turned++
					}
					if c.LastTransitionTime != now {
						t.Fatalf("%s turned at %s", c.Type, c.LastTransitionTime)
					}
				case c.LastTransitionTime != old.LastTransitionTime || c.LastHeartbeatTime != now:
					t.Fatalf("%+v was %+v", c, old)
				}
			}
			if turned != len(events) {
				t.Fatalf("%d turned, told: %v", turned, events)
			}
			ready := conditionOf(status, v1.NodeReady)
			if (ready.Status == v1.ConditionTrue) != (len(s.Problems) == 0) {
				t.Fatalf("%+v with %q", ready, s.Problems)
			}
			for _, p := range s.Problems {
				if !strings.Contains(ready.Message, p) {
					t.Fatalf("%q does not say %q", ready.Message, p)
				}
			}
		}
	})
}

func TestWordsOfProblems(t *testing.T) {
	for got, want := range map[string]string{
		RuntimeDown(nil):                "container runtime is down",
		RuntimeDown(errors.New("")):     "container runtime is down",
		RuntimeDown(errors.New("gone")): "container runtime is down: gone",
		NetworkNotReady("NetworkPluginNotReady", "Network plugin returns error: cni plugin not initialized"): "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
		aggregate([]string{"a", "b"}): "[a, b]",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestKubeletVersionIsSemanticAndThatOfGoMod(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), "\tk8s.io/kubernetes "+kubernetesVersion+"\n") {
		t.Errorf("go.mod does not have k8s.io/kubernetes %s", kubernetesVersion)
	}
	rapid.Check(t, func(t *rapid.T) {
		said := KubeletVersion(rapid.String().Draw(t, "version"))
		v, err := version.ParseSemantic(said)
		if err != nil || "v"+v.WithBuildMetadata("").String() != kubernetesVersion {
			t.Fatalf("%s: %v, %v", said, v, err)
		}
	})
	if got := KubeletVersion("v0.3.1-4-gabc"); got != "v1.37.2+whylet-0-3-1-4-gabc" {
		t.Error(got)
	}
}

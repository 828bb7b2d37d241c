package node

import (
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"reflect"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/journal/replay"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/pods"
)

// ledger is a journal and a world in one, which keeps the order of what happens.
type ledger struct {
	next  fact.ID
	facts []fact.Fact
	lone  int // facts that came by themselves
	order []string
	acted []fact.Fact
}

func (r *ledger) Next(n int) fact.ID {
	first := r.next + 1
	r.next += fact.ID(n)
	return first
}

func (r *ledger) Append(facts ...fact.Fact) error {
	if len(facts) == 1 {
		r.lone++
	}
	for _, f := range facts {
		r.order = append(r.order, fmt.Sprintf("write %d", f.ID))
	}
	r.facts = append(r.facts, facts...)
	return nil
}

func (r *ledger) act(_ pods.Pod, d fact.Fact) {
	r.order = append(r.order, fmt.Sprintf("act %d", d.ID))
	r.acted = append(r.acted, d)
}
func (r *ledger) publish(fact.Pod, v1.PodStatus)   {}
func (r *ledger) probe(pods.Pod, []health.Probe)   {}
func (r *ledger) record(fact.Fact)                 {}
func (r *ledger) announce(*v1.Pod, fact.Fact)      {}
func (r *ledger) changed(pods.Pod)                 {}
func (r *ledger) gone(pods.Pod)                    {}
func (r *ledger) all() iter.Seq2[fact.Fact, error] { return each(r.facts) }
func (r *ledger) kinds() (kinds []fact.Kind) {
	for _, f := range r.acted {
		kinds = append(kinds, f.Body.Kind())
	}
	return kinds
}

func each(facts []fact.Fact) iter.Seq2[fact.Fact, error] {
	return func(yield func(fact.Fact, error) bool) {
		for _, f := range facts {
			if !yield(f, nil) {
				return
			}
		}
	}
}

func testLoop(t *testing.T) (*loop, *ledger) {
	t.Helper()
	clock, err := newClock()
	if err != nil {
		t.Fatal(err)
	}
	r := &ledger{}
	return newLoop(loopConfig{
		inbox: newInbox(clock, keepAll), memory: r, world: r, known: pods.New(), log: slog.New(slog.DiscardHandler),
		node: func() health.Node { return health.Node{} },
	}), r
}

var testPod = &v1.Pod{
	ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u1"},
	Spec: v1.PodSpec{
		RestartPolicy: v1.RestartPolicyAlways,
		Containers: []v1.Container{{
			Name: "c", Image: "i",
			LivenessProbe: &v1.Probe{FailureThreshold: 2, PeriodSeconds: 1, SuccessThreshold: 1, TimeoutSeconds: 1},
		}},
	},
}

func of(container string, attempt int32, body fact.Body, because ...fact.ID) fact.Fact {
	return fact.Fact{Pod: pods.KeyOf(testPod), Container: container, Attempt: attempt, Body: body, Because: because}
}

// toRunning takes the test pod to a running container.
func toRunning(l *loop) {
	for _, f := range []fact.Fact{
		of("", 0, fact.SpecSeen{Object: testPod, Source: "api"}),
		of("", 0, fact.SetUpDone{SandboxID: "s", IPs: []string{"10.0.0.1"}}),
		of("c", 0, fact.ImageReady{Image: "i", Present: true}),
		of("c", 0, fact.Created{ContainerID: "x://1"}),
		of("c", 0, fact.Started{ContainerID: "x://1", PID: 7}),
	} {
		l.take(f)
	}
}

func TestEveryDecisionIsWrittenBeforeItsEffect(t *testing.T) {
	l, r := testLoop(t)
	toRunning(l)
	for range 2 {
		l.take(of("c", 0, fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure}))
	}
	l.take(of("c", 0, fact.Exited{ContainerID: "x://1", ExitCode: 137}))
	if got, want := r.kinds(), []fact.Kind{"SetUp", "Start", "Kill", "Start"}; !isSubsequence(want, got) {
		t.Fatalf("acted %v, want in this order %v", got, want)
	}
	for _, d := range r.acted {
		written, acted := slices.Index(r.order, fmt.Sprintf("write %d", d.ID)), slices.Index(r.order, fmt.Sprintf("act %d", d.ID))
		if written < 0 || written > acted {
			t.Errorf("%s %d was acted on before it was written", d.Body.Kind(), d.ID)
		}
		if len(d.Because) == 0 {
			t.Errorf("%s %d has no reason", d.Body.Kind(), d.ID)
		}
	}
}

func isSubsequence(want, got []fact.Kind) bool {
	for _, k := range got {
		if len(want) > 0 && k == want[0] {
			want = want[1:]
		}
	}
	return len(want) == 0
}

func TestExitNamesTheKillItAnswers(t *testing.T) {
	l, r := testLoop(t)
	toRunning(l)
	for range 2 {
		l.take(of("c", 0, fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure}))
	}
	kill := r.acted[slices.IndexFunc(r.acted, func(f fact.Fact) bool { return isOne[fact.Kill](f) })]
	l.take(of("c", 0, fact.Exited{ContainerID: "x://1"}))
	exit := r.facts[slices.IndexFunc(r.facts, func(f fact.Fact) bool { return isOne[fact.Exited](f) })]
	if !slices.Equal(exit.Because, []fact.ID{kill.ID}) {
		t.Errorf("the exit names %v, want %d", exit.Because, kill.ID)
	}
}

func TestWhatLedToNothingIsWrittenByItself(t *testing.T) {
	l, r := testLoop(t)
	toRunning(l)
	l.take(of("c", 0, fact.Probed{Probe: fact.Liveness, Verdict: fact.Success}))
	before, facts := r.lone, len(r.facts)
	l.take(of("c", 0, fact.Probed{Probe: fact.Liveness, Verdict: fact.Success}))
	if r.lone != before+1 {
		t.Error("a success that changed nothing did not come alone, and cannot be folded")
	}
	l.take(of("", 0, fact.TimePassed{}))
	if len(r.facts) != facts+1 {
		t.Error("a tick that led to nothing was written")
	}
}

// Law 3, without the processes: a second agent that recalls the journal stands
// where the first one stood, and asks again for exactly what was unanswered.
func TestRecallStandsWhereItStood(t *testing.T) {
	first, r := testLoop(t)
	toRunning(first)
	for i := range checkpointEvery { // far enough for a checkpoint on the way
		verdict := fact.Success
		if i%2 == 0 {
			verdict = fact.Failure
		}
		first.take(of("c", 0, fact.Probed{Probe: fact.Liveness, Verdict: verdict}))
	}
	for range 2 {
		first.take(of("c", 0, fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure}))
	}
	if !slices.ContainsFunc(r.facts, isOne[fact.Kill]) {
		t.Fatal("the container was not killed")
	}
	second, again := testLoop(t)
	if err := second.replay(r.all()); err != nil {
		t.Fatal(err)
	}
	a, b := first.pods["u1"], second.pods["u1"]
	if x, y := asJSON(t, a.state), asJSON(t, b.state); x != y {
		t.Errorf("health was\n%s\nis\n%s", x, y)
	}
	if !reflect.DeepEqual(a.Containers, b.Containers) || !reflect.DeepEqual(a.Sandbox, b.Sandbox) {
		t.Errorf("the pod was %+v, is %+v", a.Pod, b.Pod)
	}
	second.resume(second.unanswered())
	if kinds := again.kinds(); !slices.Equal(kinds, []fact.Kind{"Kill"}) {
		t.Errorf("asked again for %v, want just the kill", kinds)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestReconcileFindsWhatHappenedUnseen(t *testing.T) {
	l, _ := testLoop(t)
	toRunning(l)
	pod := pods.KeyOf(testPod)
	ready := []cri.SandboxView{{ID: "s", Pod: pod, Ready: true}}
	running := cri.ContainerView{ID: "x://1", Pod: pod, Name: "c", State: cri.Running}
	exited := running
	exited.State, exited.ExitCode = cri.Exited, 3
	unknown := exited
	unknown.ExitCode, unknown.Reason = 255, "Unknown"
	next := cri.ContainerView{ID: "x://2", Pod: pod, Name: "c", Attempt: 1, State: cri.Running}
	cases := []struct {
		name string
		have cri.Snapshot
		want []fact.Kind
	}{
		{"all as it was", cri.Snapshot{Sandboxes: ready, Containers: []cri.ContainerView{running}}, nil},
		{"it ended", cri.Snapshot{Sandboxes: ready, Containers: []cri.ContainerView{exited}}, []fact.Kind{"Exited"}},
		{"it ended, nobody knows how", cri.Snapshot{Sandboxes: ready, Containers: []cri.ContainerView{unknown}}, []fact.Kind{"Exited"}},
		{"it vanished", cri.Snapshot{Sandboxes: ready}, []fact.Kind{"Exited"}},
		{"the machine was rebooted", cri.Snapshot{}, []fact.Kind{"SandboxLost", "Exited"}},
		{
			"the next one runs already",
			cri.Snapshot{Sandboxes: ready, Containers: []cri.ContainerView{exited, next}},
			[]fact.Kind{"Exited", "Created", "Started"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []fact.Kind
			for _, f := range l.reconcile(c.have, "gone", nil) {
				got = append(got, f.Body.Kind())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// A resize that finds no room is decided so, and tried again as soon as another pod
// makes some.
func TestDeferredResize(t *testing.T) {
	l, r := testLoop(t)
	l.node = func() health.Node { return health.Node{Object: twoCPUs} }
	toRunning(l)
	other := fact.Pod{Namespace: "ns", Name: "other", UID: "u2"}
	l.take(fact.Fact{Pod: other, Body: fact.SpecSeen{Object: asking("other", "u2", "1500m"), Source: "api"}})
	bigger := testPod.DeepCopy()
	bigger.Generation = 2
	bigger.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	l.take(of("", 0, fact.SpecSeen{Object: bigger, Source: "api"}))
	if slices.Contains(r.kinds(), "Resize") {
		t.Fatal("it was asked for although there is no room")
	}
	refusal := r.facts[slices.IndexFunc(r.facts, isOne[fact.ResizeFailed])]
	b := refusal.Body.(fact.ResizeFailed)
	if b.Reason != v1.PodReasonDeferred || len(b.Holders) != 1 || b.Holders[0].Pod != other || !slices.Contains(refusal.Because, b.Room) {
		t.Errorf("it does not say who holds the room: %+v", refusal)
	}
	l.take(fact.Fact{Pod: other, Body: fact.ObjectGone{}})
	made := <-l.facts
	if by, ok := made.Body.(fact.RoomMade); !ok || by.By != other || len(made.Because) != 1 {
		t.Errorf("it is told of room with %+v", made)
	}
	l.take(made)
	if n := len(slices.DeleteFunc(r.kinds(), func(k fact.Kind) bool { return k != "Resize" })); n != 1 {
		t.Errorf("it was asked for %d times", n)
	}
	report, err := replay.Facts(r.all(), health.Policy{})
	if err != nil || len(report.Differences) > 0 || report.Decisions == 0 {
		t.Errorf("replay: %+v %v", report, err)
	}
}

var twoCPUs = &v1.Node{
	ObjectMeta: metav1.ObjectMeta{Name: "n1"},
	Status:     v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2"), v1.ResourcePods: resource.MustParse("10")}},
}

// asking is a pod that requests so much CPU.
func asking(name string, uid types.UID, cpu string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: uid},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
	}
}

// Whether a pod is taken in is decided like all else: it rests on facts that say who
// holds the room, and a replay comes to the same.
func TestRefusalNamesWhoHoldsTheRoom(t *testing.T) {
	l, r := testLoop(t)
	l.node = func() health.Node { return health.Node{Object: twoCPUs} }
	for name, uid := range map[string]types.UID{"first": "u1", "second": "u2"} {
		l.take(fact.Fact{Pod: fact.Pod{Namespace: "ns", Name: name, UID: uid}, Body: fact.SpecSeen{Object: asking(name, uid, "1500m"), Source: "api"}})
	}
	i := slices.IndexFunc(r.facts, isOne[fact.Refused])
	if i < 0 {
		t.Fatal("two pods of 1.5 CPUs fit on a node of two")
	}
	b := r.facts[i].Body.(fact.Refused)
	if !fact.IsDecided(b) || !slices.Contains(r.facts[i].Because, b.Room) || len(b.Holders) != 1 || b.Holders[0].Pod.UID == r.facts[i].Pod.UID {
		t.Errorf("%+v", r.facts[i])
	}
	report, err := replay.Facts(r.all(), health.Policy{})
	if err != nil || len(report.Differences) > 0 {
		t.Errorf("replay: %+v %v", report, err)
	}
}

// What the API server knows of a pod counts where the journal was lost, and only there.
func TestAdoptsOnlyWhatTheJournalDoesNotKnow(t *testing.T) {
	l, r := testLoop(t)
	l.first = cri.Snapshot{
		Sandboxes:  []cri.SandboxView{{ID: "s", Pod: pods.KeyOf(testPod), Ready: true}},
		Containers: []cri.ContainerView{{ID: "x://1", Pod: pods.KeyOf(testPod), Name: "c", Attempt: 4, State: cri.Running}},
	}
	status := of("", 0, fact.AdoptedStatus{Status: v1.PodStatus{StartTime: &metav1.Time{}, HostIP: "192.0.2.1"}})
	spec := of("", 0, fact.SpecSeen{Object: testPod, Source: "api"})
	l.take(status)
	if len(r.facts) > 0 {
		t.Fatal("a status alone is written")
	}
	l.take(spec)
	if c := l.pods["u1"].Containers["c"]; !c.Running || c.Attempt != 4 || len(r.acted) > 0 && r.kinds()[0] == "SetUp" {
		t.Errorf("%+v, and %v", c, r.kinds())
	}
	before := len(r.facts)
	l.take(status)
	if len(r.facts) != before || len(l.told) > 0 {
		t.Error("the status of a pod that is known is taken")
	}
}

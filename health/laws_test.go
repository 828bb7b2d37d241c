package health

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"whylet.dev/whylet/fact"
)

// TestLaws lets random pods meet random trouble, and checks after every step
// what must hold whatever happens. `make test-laws` runs it for more than a
// million steps, always the same; `make test-laws-long` for many more, new ones.
func TestLaws(t *testing.T) {
	var steps atomic.Int64
	var seeding sync.Mutex
	for i, half := range []string{"a", "b"} { // one for each core
		t.Run(half, func(t *testing.T) {
			t.Parallel()
			seeding.Lock()
			seed(t, uint64(i)<<40)
			seeded := sync.OnceFunc(seeding.Unlock) // rapid has taken it when it calls back
			defer seeded()
			rapid.Check(t, func(r *rapid.T) {
				seeded()
				steps.Add(live(r))
			})
		})
	}
	t.Cleanup(func() { t.Logf("%d steps", steps.Load()) })
}

// chosen is the seed that was asked for, 0 for one of rapid's own choice.
var chosen = sync.OnceValues(func() (uint64, error) {
	return strconv.ParseUint(flag.Lookup("rapid.seed").Value.String(), 0, 64)
})

// seed lets the next check try other cases than its siblings, the same each time.
func seed(t *testing.T, apart uint64) {
	base, err := chosen()
	if err != nil {
		t.Fatal(err)
	}
	if base == 0 {
		return
	}
	if err := flag.Set("rapid.seed", strconv.FormatUint(base+apart, 10)); err != nil {
		t.Fatal(err)
	}
}

// live is the life of one pod, in steps.
func live(r *rapid.T) int64 {
	x := newTrouble(r)
	x.see(drawPod(r))
	x.feed("", 0, fact.Admitted{})
	for range rapid.IntRange(5, 60).Draw(r, "ops") {
		x.once()
	}
	x.comeToRest()
	x.replay(rapid.IntRange(0, 7).Draw(r, "from disk") == 0)
	return int64(len(x.steps))
}

// trouble is a world in which things go wrong at random.
type trouble struct {
	*world
	r *rapid.T
	// alive are the containers that a naive fold takes for running or starting.
	alive    map[string]bool
	tornDown bool
	released bool
	// shown is the status after the step before.
	shown v1.PodStatus
}

func newTrouble(r *rapid.T) *trouble {
	x := &trouble{world: newWorld(r, Policy{}), r: r, alive: map[string]bool{}}
	x.onStep = x.check
	return x
}

// failf fails with the end of the journal.
func (x *trouble) failf(format string, args ...any) {
	x.t.Fatalf(format+"\n%s", append(args, x.trail())...)
}

func drawPod(r *rapid.T) *v1.Pod {
	policies := []v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever}
	pod := podOf(rapid.SampledFrom(policies).Draw(r, "policy"))
	for i := range rapid.IntRange(0, 2).Draw(r, "inits") {
		c := drawContainer(r, "init"+string(rune('0'+i)))
		if rapid.Bool().Draw(r, "sidecar") {
			always := v1.ContainerRestartPolicyAlways
			c.RestartPolicy, c.RestartPolicyRules = &always, nil
		} else {
			c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = nil, nil, nil
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	for i := range rapid.IntRange(1, 3).Draw(r, "mains") {
		pod.Spec.Containers = append(pod.Spec.Containers, drawContainer(r, "main"+string(rune('0'+i))))
	}
	if rapid.IntRange(0, 9).Draw(r, "deadline") == 0 {
		seconds := int64(rapid.IntRange(1, 600).Draw(r, "seconds"))
		pod.Spec.ActiveDeadlineSeconds = &seconds
	}
	if rapid.IntRange(0, 9).Draw(r, "gate") == 0 {
		pod.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "example.com/gate"}}
	}
	return pod
}

func drawContainer(r *rapid.T, name string) v1.Container {
	c := v1.Container{Name: name, Image: "img:1"}
	drawProbe := func(label string) *v1.Probe {
		if rapid.IntRange(0, 2).Draw(r, label) != 0 {
			return nil
		}
		p := probeSpec(int32(rapid.IntRange(1, 3).Draw(r, "failures")))
		if label == "readiness" {
			p.SuccessThreshold = int32(rapid.IntRange(1, 2).Draw(r, "successes"))
		}
		return p
	}
	c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = drawProbe("liveness"), drawProbe("readiness"), drawProbe("startup")
	if rapid.IntRange(0, 5).Draw(r, "hook") == 0 {
		c.Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{}}
	}
	switch rapid.IntRange(0, 11).Draw(r, "own policy") {
	case 0:
		p := rapid.SampledFrom([]v1.ContainerRestartPolicy{"Always", "OnFailure", "Never"}).Draw(r, "container policy")
		c.RestartPolicy = &p
	case 1:
		p := v1.ContainerRestartPolicyNever
		c.RestartPolicy = &p
		codes := rapid.SampledFrom([]v1.ContainerRestartRuleOnExitCodes{
			{Operator: "In", Values: []int32{1, 42}}, {Operator: "NotIn", Values: []int32{0, 42}},
		}).Draw(r, "codes")
		c.RestartPolicyRules = []v1.ContainerRestartRule{{
			Action:    rapid.SampledFrom([]v1.ContainerRestartRuleAction{"Restart", "RestartAllContainers"}).Draw(r, "action"),
			ExitCodes: &codes,
		}}
	}
	return c
}

// once lets one thing happen.
func (x *trouble) once() {
	r := x.r
	switch rapid.IntRange(0, 23).Draw(r, "what") {
	case 0, 1, 2:
		x.advance(time.Duration(rapid.SampledFrom([]int{1, 5, 11, 30, 130, 700}).Draw(r, "seconds")) * time.Second)
	case 3, 4, 5, 6:
		x.someExit()
	case 7, 8, 9, 10, 11:
		x.someProbe()
	case 12:
		if name, p := x.someProcess(); p != nil {
			x.feed(name, p.attempt, fact.OOMKilled{PID: 7, Command: "hog", Limit: 32 << 20, Main: rapid.Bool().Draw(r, "main")})
		}
	case 13:
		x.repeat()
	case 14, 15:
		x.refuseSome()
	case 16:
		x.loseSandbox()
	case 17:
		x.changeSpec()
	case 18:
		x.deliver()
	case 19:
		x.endSome()
	case 20:
		x.feed("", 0, fact.ConditionsSeen{Conditions: []v1.PodCondition{{
			Type: "example.com/gate", Status: rapid.SampledFrom([]v1.ConditionStatus{"True", "False"}).Draw(r, "status"),
		}}})
	default:
		x.settle()
	}
}

func (x *trouble) someProcess() (string, *process) {
	names := slices.Sorted(maps.Keys(x.runs))
	if len(names) == 0 {
		return "", nil
	}
	name := rapid.SampledFrom(names).Draw(x.r, "container")
	return name, x.runs[name]
}

func (x *trouble) someExit() {
	name, p := x.someProcess()
	if p == nil {
		return
	}
	e := fact.Exited{ContainerID: p.id, ExitCode: rapid.SampledFrom([]int32{0, 0, 1, 42, 137, 139}).Draw(x.r, "code")}
	e.Vanished = rapid.IntRange(0, 19).Draw(x.r, "vanished") == 0
	delete(x.runs, name)
	f := fact.Fact{Container: name, Attempt: p.attempt, Body: e}
	if rapid.Bool().Draw(x.r, "timed") {
		f.At = x.now
	}
	x.step(f)
}

func (x *trouble) someProbe() {
	name, p := x.someProcess()
	if p == nil {
		return
	}
	b := fact.Probed{
		Probe:   rapid.SampledFrom([]fact.ProbeKind{fact.Liveness, fact.Readiness, fact.Startup}).Draw(x.r, "probe"),
		Verdict: rapid.SampledFrom([]fact.Verdict{fact.Success, fact.Success, fact.Failure, fact.Failure, fact.Warning, fact.Unknown}).Draw(x.r, "verdict"),
		Message: "no",
		Count:   int64(rapid.IntRange(0, 2).Draw(x.r, "count")),
	}
	x.feed(name, p.attempt, b)
}

// repeat feeds a fact for a second time, late.
func (x *trouble) repeat() {
	f := rapid.SampledFrom(x.steps).Draw(x.r, "repeated").fact
	switch f.Body.(type) {
	case fact.SpecSeen, fact.Probed, fact.OOMKilled, fact.ConditionsSeen, fact.TimePassed, fact.DeletionSeen:
		return // news again, not late news
	case fact.KillFailed, fact.SandboxLost, fact.TornDown, fact.SetUpFailed, fact.Resized, fact.ResizeFailed:
		return // these carry no name of what they answer
	case fact.ImageFailed, fact.StartFailed, fact.HookRan:
		return
	case fact.ObjectGone:
		return
	}
	before := mustJSON(x.state)
	x.step(f)
	switch f.Body.(type) {
	case fact.Created, fact.Exited, fact.Started:
		if after := mustJSON(x.state); len(x.steps[len(x.steps)-1].decisions) == 0 && !bytes.Equal(before, after) {
			x.failf("late %s changed the state:\n%s\n%s", f.Body.Kind(), before, after)
		}
	}
}

func (x *trouble) refuseSome() {
	var names []string
	for i := range x.state.p.Containers {
		names = append(names, x.state.p.Containers[i].Name)
	}
	name := rapid.SampledFrom(names).Draw(x.r, "refused")
	switch rapid.IntRange(0, 5).Draw(x.r, "how") {
	case 0:
		x.refuse[name] = append(x.refuse[name], fact.ImageFailed{Image: "img:1", Reason: "ErrImagePull", Message: "not found"})
	case 1:
		x.refuse[name] = append(x.refuse[name], fact.StartFailed{Reason: "CreateContainerConfigError", Message: "no secret"})
	case 2:
		x.refuse[name] = append(x.refuse[name], fact.StartFailed{Reason: "RunContainerError", Message: "no such file", ContainerID: "containerd://f" + time.Duration(len(x.steps)).String(), Exited: true, ExitCode: 128})
	case 3:
		x.hooks[name] = append(x.hooks[name], "exit status 1")
	case 4:
		x.stubborn++
	case 5:
		x.setUps = append(x.setUps, fact.SetUpFailed{Stage: "sandbox", Reason: "FailedCreatePodSandBox", Message: "no network"})
	}
}

func (x *trouble) loseSandbox() {
	if rapid.IntRange(0, 3).Draw(x.r, "lose") == 0 {
		x.feed("", 0, fact.SandboxLost{SandboxID: x.state.p.Sandbox.ID})
	}
}

func (x *trouble) changeSpec() {
	pod := x.state.p.Object.DeepCopy()
	pod.Generation++
	switch rapid.IntRange(0, 3).Draw(x.r, "change") {
	case 0:
		pod.Spec.Containers[0].Image += "x"
	case 1:
		quantity := resource.MustParse(rapid.SampledFrom([]string{"10Mi", "20Mi", "30Mi"}).Draw(x.r, "memory"))
		pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceMemory: quantity}
		if rapid.Bool().Draw(x.r, "restarts") {
			pod.Spec.Containers[0].ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: v1.ResourceMemory, RestartPolicy: v1.RestartContainer}}
		}
	case 2:
		if len(pod.Spec.EphemeralContainers) < 2 {
			pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, v1.EphemeralContainer{
				EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "debug" + string(rune('0'+len(pod.Spec.EphemeralContainers))), Image: "img:1"},
			})
		}
	}
	x.see(pod)
}

func (x *trouble) endSome() {
	switch rapid.IntRange(0, 5).Draw(x.r, "end") {
	case 0:
		x.feed("", 0, fact.DeletionSeen{GraceSeconds: int64(rapid.IntRange(0, 60).Draw(x.r, "grace"))})
	case 1:
		x.feed("", 0, fact.EvictionNeeded{Message: "The node was low on resource: memory.", Signal: "memory.available", GraceSeconds: int64(rapid.IntRange(-1, 10).Draw(x.r, "grace"))})
	}
}

// comeToRest stops the trouble and expects the pod to come to where it should
// be: ended, or with everything running that has not ended for good.
func (x *trouble) comeToRest() {
	x.refuse, x.hooks, x.setUps, x.stubborn = map[string][]fact.Body{}, map[string][]string{}, nil, 0
	x.settle()
	for range 8 {
		x.advance(6 * time.Minute)
		for _, p := range Probes(x.state) {
			for range 2 {
				x.feed(p.Key.Container, p.Key.Attempt, fact.Probed{Probe: p.Key.Kind, Verdict: fact.Success})
			}
		}
		for _, name := range slices.Sorted(maps.Keys(x.runs)) { // init containers do their work
			if c := x.state.p.find(name); c != nil && c.Role == initial {
				p := x.runs[name]
				delete(x.runs, name)
				x.feed(name, p.attempt, fact.Exited{ContainerID: p.id})
			}
		}
	}
	p := &x.state.p
	if p.Ending != nil {
		if len(x.runs) > 0 || p.Sandbox.Stage != sandboxRemoved || (p.Deletion != nil && !p.Gone) {
			x.failf("the pod has not come to its end: %s", mustJSON(x.state))
		}
		return
	}
	for i := range p.Containers {
		c := &p.Containers[i]
		done := c.Stage == ended && !p.again(c)
		if c.Stage != running && !done {
			x.failf("%s does not run in the end: %s", c.Name, mustJSON(x.state))
		}
		if c.Role == regular && c.Stage == running && !c.Ready {
			x.failf("%s is not ready in the end: %s", c.Name, mustJSON(x.state))
		}
	}
}

// replay feeds the journal to a fresh machine: the same facts, the same
// decisions (law 2). Ticks that led to nothing are not in a journal.
func (x *trouble) replay(fromDisk bool) {
	s := New(Policy{})
	for _, step := range x.steps {
		if step.fact.Body == (fact.TimePassed{}) && len(step.decisions) == 0 {
			continue
		}
		f := step.fact
		if fromDisk {
			f = x.throughDisk(f)
		}
		var decisions []fact.Decision
		s, decisions = Step(s, f)
		if fromDisk && decisionsJSON(decisions) != decisionsJSON(step.decisions) || len(decisions) != len(step.decisions) {
			x.failf("replay of fact %d decides\n%s\nand not\n%s", f.ID, decisionsJSON(decisions), decisionsJSON(step.decisions))
		}
	}
	if a, b := mustJSON(s), mustJSON(x.state); !bytes.Equal(a, b) {
		x.failf("replay ends in\n%s\nand not in\n%s", a, b)
	}
}

func (x *trouble) throughDisk(f fact.Fact) (read fact.Fact) {
	if err := json.Unmarshal(mustJSON(f), &read); err != nil {
		x.failf("%v", err)
	}
	return read
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

func decisionsJSON(decisions []fact.Decision) string {
	var out bytes.Buffer
	for _, d := range decisions {
		out.Write(mustJSON(d.Fact(1, fact.Fact{Seen: epoch})))
		out.WriteByte('\n')
	}
	return out.String()
}

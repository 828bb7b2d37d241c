package health

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
)

// world is a node small enough to think about: it feeds facts to Step, answers
// decisions as pod workers and a runtime would, and lets time pass from one
// deadline to the next.
type world struct {
	t     tb
	key   fact.Pod
	state State
	now   time.Time
	begun time.Time

	steps   []step
	pending []later
	// The containers that the runtime runs, by name.
	runs map[string]*process
	made int
	// ticks counts the TimePassed.
	ticks int
	// behave says how a container answers SIGTERM; the default is to exit with 143.
	behave map[string]behaviour
	// refuse makes the next starts of a container come to nothing, in order; hooks
	// are the errors of its next postStart hooks.
	refuse map[string][]fact.Body
	hooks  map[string][]string
	// hookTakes is how long postStart hooks run.
	hookTakes time.Duration
	// stubborn counts the kills that fail before one succeeds.
	stubborn int
	// habits are what a container does by itself some time after each start.
	habits map[string]habit
	// answers are what a container says to its probes, tried when they are due.
	answers map[ProbeKey]answer // the attempt is left out
	tried   map[ProbeKey]time.Time
	// setUps are answers to the next SetUps, in order; then they succeed.
	setUps []fact.Body
	// onStep sees every step.
	onStep func(step)
}

// tb is what a world needs of a test, be it testing's or rapid's.
type tb interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// step is a fact and what was decided from it.
type step struct {
	fact      fact.Fact
	before    State
	after     State
	decisions []fact.Decision
}

// later is a fact that will be seen at a time.
type later struct {
	at   time.Time
	fact fact.Fact
}

type process struct {
	id      string
	attempt int32
	started time.Time
}

// behaviour is what a process does when it is told to end.
type behaviour struct {
	code    int32
	takes   time.Duration
	ignores bool // it needs SIGKILL
}

// habit is an end of its own accord.
type habit struct {
	after time.Duration
	exit  fact.Exited
	// oom is told some time before the end.
	oom    *fact.OOMKilled
	before time.Duration
}

// answer is what a probe gets.
type answer struct {
	verdict fact.Verdict
	message string
}

// epoch is when every world begins.
var epoch = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func newWorld(t tb, policy Policy) *world {
	return &world{
		t: t, state: New(policy), now: epoch, begun: epoch,
		key:  fact.Pod{Namespace: "default", Name: "web", UID: "uid-1"},
		runs: map[string]*process{}, behave: map[string]behaviour{}, refuse: map[string][]fact.Body{}, hooks: map[string][]string{},
		habits: map[string]habit{}, answers: map[ProbeKey]answer{}, tried: map[ProbeKey]time.Time{},
	}
}

// meet shows the pod to the machine, admits it and lets the world settle.
func (w *world) meet(pod *v1.Pod) {
	w.see(pod)
	w.feed("", 0, fact.Admitted{})
	w.settle()
}

func (w *world) see(pod *v1.Pod) {
	pod.Namespace, pod.Name, pod.UID = w.key.Namespace, w.key.Name, w.key.UID
	w.feed("", 0, fact.SpecSeen{Object: pod, Source: "api"})
}

// feed is one turn of the loop: the fact, the decisions, their effects queued.
func (w *world) feed(container string, attempt int32, body fact.Body) []fact.Decision {
	return w.step(fact.Fact{Container: container, Attempt: attempt, Body: body})
}

func (w *world) step(f fact.Fact) []fact.Decision {
	f.ID, f.Pod, f.Seen = w.nextID(), w.key, w.now
	if f.Body == (fact.TimePassed{}) {
		w.ticks++
	}
	before := w.state
	next, decisions := Step(w.state, f)
	w.state = next
	s := step{fact: f, before: before, after: next, decisions: decisions}
	w.steps = append(w.steps, s)
	for i, d := range decisions {
		w.answer(d.Fact(f.ID+fact.ID(i)+1, f))
	}
	if w.onStep != nil {
		w.onStep(s)
	}
	return decisions
}

func (w *world) nextID() fact.ID {
	if len(w.steps) == 0 {
		return 1
	}
	last := w.steps[len(w.steps)-1]
	return last.fact.ID + fact.ID(len(last.decisions)) + 1
}

// answer queues what a decision leads to.
func (w *world) answer(d fact.Fact) {
	come := func(after time.Duration, body fact.Body) {
		w.pending = append(w.pending, later{w.now.Add(after), fact.Fact{
			Container: d.Container, Attempt: d.Attempt, Because: []fact.ID{d.ID}, Body: body,
		}})
	}
	switch b := d.Body.(type) {
	case fact.SetUp:
		if len(w.setUps) > 0 {
			come(0, w.setUps[0])
			w.setUps = w.setUps[1:]
			return
		}
		come(0, fact.SetUpDone{
			SandboxID: fmt.Sprintf("sb%d", b.Attempt), Attempt: b.Attempt,
			IPs: []string{"10.0.0.7"}, HostIPs: []string{"192.0.2.1"},
		})
	case fact.Start:
		w.answerStart(d, come)
	case fact.Kill:
		w.answerKill(d.Container, b, come)
	case fact.Resize:
		come(0, fact.Resized(b))
	case fact.Remove:
		come(0, fact.Removed(b))
	case fact.TearDown:
		come(0, fact.TornDown{})
	case fact.Release:
		come(0, fact.ObjectGone{})
	}
}

func (w *world) answerStart(d fact.Fact, come func(time.Duration, fact.Body)) {
	if refusals := w.refuse[d.Container]; len(refusals) > 0 {
		w.refuse[d.Container] = refusals[1:]
		come(0, refusals[0])
		return
	}
	if p := w.runs[d.Container]; p != nil {
		w.t.Fatalf("%s#%d is started while #%d runs", d.Container, d.Attempt, p.attempt)
	}
	w.made++
	id := fmt.Sprintf("containerd://c%d", w.made)
	w.runs[d.Container] = &process{id: id, attempt: d.Attempt, started: w.now}
	come(0, fact.Created{ContainerID: id})
	come(0, fact.Started{ContainerID: id, PID: 100 + w.made, Image: "docker.io/library/img:1", ImageID: "sha256:1"})
	if l := w.specOf(d.Container).Lifecycle; l != nil && l.PostStart != nil {
		hook := fact.HookRan{Hook: fact.PostStart}
		if errs := w.hooks[d.Container]; len(errs) > 0 {
			hook.Error, w.hooks[d.Container] = errs[0], errs[1:]
		}
		come(w.hookTakes, hook)
	}
	if h, ok := w.habits[d.Container]; ok {
		if h.oom != nil {
			come(h.after-h.before, *h.oom)
		}
		end := h.exit
		end.ContainerID, end.StartedAt = id, w.now
		come(h.after, end)
	}
}

func (w *world) answerKill(name string, k fact.Kill, come func(time.Duration, fact.Body)) {
	p := w.runs[name]
	if p == nil {
		return
	}
	if w.stubborn > 0 {
		w.stubborn--
		come(0, fact.KillFailed{Message: "context deadline exceeded"})
		return
	}
	b, ok := w.behave[name]
	if !ok {
		b = behaviour{code: 143}
	}
	// A second kill may only hasten the end.
	w.pending = slices.DeleteFunc(w.pending, func(l later) bool {
		e, exits := l.fact.Body.(fact.Exited)
		return exits && e.ContainerID == p.id
	})
	if b.ignores {
		come(time.Duration(max(k.GraceSeconds, leastGrace))*time.Second, fact.Exited{ContainerID: p.id, ExitCode: 137, StartedAt: p.started})
		return
	}
	come(b.takes, fact.Exited{ContainerID: p.id, ExitCode: b.code, StartedAt: p.started})
}

func (w *world) specOf(name string) *v1.Container {
	c := w.state.p.find(name)
	if c == nil {
		return &v1.Container{}
	}
	return w.state.p.spec(c)
}

// settle feeds everything that has come by now.
func (w *world) settle() {
	for turns := 0; w.deliver(); turns++ {
		if turns > 1000 {
			w.t.Fatal("the world does not settle")
		}
	}
}

// deliver feeds the first fact that is due.
func (w *world) deliver() bool {
	for i, l := range w.pending {
		if !l.at.After(w.now) {
			w.pending = slices.Delete(w.pending, i, i+1)
			if l.fact.At.IsZero() {
				l.fact.At = l.at
			}
			if e, ok := l.fact.Body.(fact.Exited); ok {
				w.forget(e.ContainerID)
			}
			w.step(l.fact)
			return true
		}
	}
	return false
}

func (w *world) forget(id string) {
	for name, p := range w.runs {
		if p.id == id {
			delete(w.runs, name)
		}
	}
}

// advance lets time pass, with a tick at every deadline.
func (w *world) advance(d time.Duration) {
	end := w.now.Add(d)
	for turns := 0; ; turns++ {
		w.settle()
		next := Deadline(w.state)
		for _, l := range w.pending {
			if next.IsZero() || l.at.Before(next) {
				next = l.at
			}
		}
		if at := w.nextProbe(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
		if next.IsZero() || next.After(end) {
			break
		}
		if next.After(w.now) {
			w.now = next
		}
		w.settle()
		w.tryProbes()
		if at := Deadline(w.state); !at.IsZero() && !at.After(w.now) {
			w.feed("", 0, fact.TimePassed{})
			if again := Deadline(w.state); !again.IsZero() && !again.After(w.now) {
				w.t.Fatalf("the deadline %v is not after %v, at which it was served", again, w.now)
			}
		}
		if turns > 100000 {
			w.t.Fatal("time does not pass")
		}
	}
	w.now = end
}

// dueProbes gives the probes that have an answer, with when they are due next.
func (w *world) dueProbes() map[ProbeKey]time.Time {
	due := map[ProbeKey]time.Time{}
	for _, p := range Probes(w.state) {
		if _, ok := w.answers[ProbeKey{Container: p.Key.Container, Kind: p.Key.Kind}]; !ok {
			continue
		}
		at := p.StartedAt.Add(time.Duration(p.Spec.InitialDelaySeconds) * time.Second)
		if last, ok := w.tried[p.Key]; ok {
			at = last.Add(time.Duration(p.Spec.PeriodSeconds) * time.Second)
		}
		due[p.Key] = at
	}
	return due
}

func (w *world) nextProbe() (next time.Time) {
	for _, at := range w.dueProbes() {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

// tryProbes makes the attempts that are due, in a fixed order.
func (w *world) tryProbes() {
	due := w.dueProbes()
	for _, p := range Probes(w.state) {
		at, ok := due[p.Key]
		if !ok || at.After(w.now) {
			continue
		}
		w.tried[p.Key] = w.now
		a := w.answers[ProbeKey{Container: p.Key.Container, Kind: p.Key.Kind}]
		w.feed(p.Key.Container, p.Key.Attempt, fact.Probed{Probe: p.Key.Kind, Verdict: a.verdict, Message: a.message})
	}
	w.settle()
}

// exit ends a process by itself.
func (w *world) exit(name string, code int32, change ...func(*fact.Exited)) {
	p := w.runs[name]
	if p == nil {
		w.t.Fatalf("%s does not run", name)
	}
	e := fact.Exited{ContainerID: p.id, ExitCode: code, StartedAt: p.started}
	for _, f := range change {
		f(&e)
	}
	delete(w.runs, name)
	w.feed(name, p.attempt, e)
	w.settle()
}

// probe is the outcome of one attempt, given to the run at hand.
func (w *world) probe(name string, kind fact.ProbeKind, verdict fact.Verdict, message string) {
	p := w.runs[name]
	if p == nil {
		w.t.Fatalf("%s does not run", name)
	}
	w.feed(name, p.attempt, fact.Probed{Probe: kind, Verdict: verdict, Message: message})
	w.settle()
}

func (w *world) oom(name string, b fact.OOMKilled) {
	p := w.runs[name]
	if p == nil {
		w.t.Fatalf("%s does not run", name)
	}
	w.feed(name, p.attempt, b)
}

// delete asks for the pod's end.
func (w *world) delete(grace int64) {
	w.feed("", 0, fact.DeletionSeen{GraceSeconds: grace})
	w.settle()
}

// container gives the status of one container.
func (w *world) container(name string) v1.ContainerStatus {
	s := Status(w.state)
	for _, list := range [][]v1.ContainerStatus{s.ContainerStatuses, s.InitContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return list[i]
			}
		}
	}
	w.t.Fatalf("no container %s", name)
	return v1.ContainerStatus{}
}

// podOf makes a pod of containers named by the test.
func podOf(policy v1.RestartPolicy, containers ...v1.Container) *v1.Pod {
	grace := int64(30)
	for i := range containers {
		if containers[i].Image == "" {
			containers[i].Image = "img:1"
		}
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Generation: 1},
		Spec:       v1.PodSpec{RestartPolicy: policy, TerminationGracePeriodSeconds: &grace, Containers: containers},
	}
}

// probeSpec fills in what the API server would.
func probeSpec(failures int32) *v1.Probe {
	return &v1.Probe{
		ProbeHandler:  v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}},
		PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: failures,
	}
}

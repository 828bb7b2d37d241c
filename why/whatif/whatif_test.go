package whatif

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// world is a pod's history in the making: decisions come from package health, and
// what follows from them comes by itself.
type world struct {
	pod   *v1.Pod
	state health.State
	facts []fact.Fact
	now   time.Time
	last  fact.ID
	try   int32
}

func begin(pod *v1.Pod) *world {
	w := &world{pod: pod, state: health.New(health.Policy{}), now: time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)}
	w.see("", fact.SpecSeen{Object: pod})
	w.see("", fact.Admitted{})
	return w
}

func (w *world) see(container string, body fact.Body, because ...fact.ID) fact.ID {
	w.last++
	f := fact.Fact{ID: w.last, At: w.now, Seen: w.now, Pod: fact.Pod{Namespace: "shop", Name: "web-1", UID: "u1"}, Container: container, Because: because, Body: body}
	if container != "" {
		f.Attempt = w.try
	}
	w.facts = append(w.facts, f)
	next, decisions := health.Step(w.state, f)
	w.state = next
	var made []fact.Fact
	for _, d := range decisions {
		w.last++
		made = append(made, d.Fact(w.last, f))
	}
	w.facts = append(w.facts, made...)
	for _, d := range made {
		switch d.Body.(type) {
		case fact.SetUp:
			w.see("", fact.SetUpDone{SandboxID: "s"}, d.ID)
		case fact.Start:
			w.try = d.Attempt
			w.see("app", fact.Created{ContainerID: string(rune('a' + w.try))}, d.ID)
			w.see("app", fact.Started{ContainerID: string(rune('a' + w.try))}, d.ID)
		case fact.Kill:
			w.now = w.now.Add(time.Second)
			w.see("app", fact.Exited{ContainerID: string(rune('a' + w.try)), ExitCode: 143}, d.ID)
			w.wait(30 * time.Second)
		}
	}
	return f.ID
}

func (w *world) wait(d time.Duration) {
	until := w.now.Add(d)
	for at := health.Deadline(w.state); !at.IsZero() && !at.After(until); at = health.Deadline(w.state) {
		if at.After(w.now) {
			w.now = at
		}
		n := len(w.facts)
		w.see("", fact.TimePassed{})
		if len(w.facts) == n+1 {
			break
		}
	}
	if until.After(w.now) {
		w.now = until
	}
}

// probe makes attempts of the liveness probe, two seconds apart, and gives their ids.
func (w *world) probe(n int, b fact.Probed) []fact.ID {
	var ids []fact.ID
	for range n {
		ids = append(ids, w.see("app", b))
		w.wait(2 * time.Second)
	}
	return ids
}

func (w *world) ask(t *testing.T, question string) Result {
	t.Helper()
	changes, err := Parse(question)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Ask(history.New(w.facts[0].Pod, w.facts, nil, nil), changes, why.Options{Now: w.now, Journal: answer.Coverage{Complete: true}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Text(nil) == "" {
		t.Error("no text")
	}
	return r
}

func (w *world) outcomes(t *testing.T, question string) string {
	t.Helper()
	var all []string
	for _, s := range w.ask(t, question).Restarts {
		all = append(all, string(s.Outcome))
	}
	return strings.Join(all, " ")
}

func web() *v1.Pod {
	probe := &v1.Probe{
		ProbeHandler:   v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(8080)}},
		TimeoutSeconds: 1, PeriodSeconds: 2, FailureThreshold: 3, SuccessThreshold: 1,
	}
	c := v1.Container{Name: "app", LivenessProbe: probe}
	c.Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse("64Mi")}
	c.Resources.Requests = v1.ResourceList{v1.ResourceMemory: resource.MustParse("32Mi")}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "u1", Generation: 1},
		Spec:       v1.PodSpec{RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{c}},
	}
}

var (
	ok   = fact.Probed{Probe: fact.Liveness, Verdict: fact.Success, Took: 5 * time.Millisecond}
	no   = fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure, Evidence: &fact.Evidence{Status: 503}}
	late = fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure, Took: time.Second, Evidence: &fact.Evidence{Timeout: true, Connect: time.Millisecond}}
)

func TestThreshold(t *testing.T) {
	w := begin(web())
	w.probe(3, ok)
	w.probe(2, no) // recovers
	w.probe(3, ok)
	w.probe(3, no) // is ended
	w.probe(5, ok)
	for question, want := range map[string]string{
		"livenessProbe.failureThreshold=3":                                    "would-have-been",
		"livenessProbe.failureThreshold=5":                                    "not-known", // two more attempts were never made
		"livenessProbe.failureThreshold=2":                                    "would-have-been",
		"livenessProbe.failureThreshold=1":                                    "would-have-been",
		"app:livenessProbe.failureThreshold=5,livenessProbe.timeoutSeconds=9": "not-known",
	} {
		if got := w.outcomes(t, question); got != want {
			t.Errorf("%s: %s, want %s", question, got, want)
		}
	}
	r := w.ask(t, "livenessProbe.failureThreshold=2")
	if s := r.Restarts[0]; !strings.Contains(s.Text, "earlier") {
		t.Errorf("two in a row: %s", s.Text)
	}
	if len(w.ask(t, "livenessProbe.failureThreshold=5").NotKnown) == 0 {
		t.Error("it is not said what is not known")
	}
	// A container that recovered in time would have been ended by a stricter probe.
	w = begin(web())
	w.probe(3, ok)
	w.probe(2, no)
	w.probe(3, ok)
	if got := w.outcomes(t, "livenessProbe.failureThreshold=2"); got != "would-have-been-added" {
		t.Error(got)
	}
	if got := w.outcomes(t, "livenessProbe.failureThreshold=4"); got != "" {
		t.Error(got)
	}
}

func TestTimeout(t *testing.T) {
	came := fact.AskedAgain{Probe: fact.Liveness, Patience: 30 * time.Second, Timeout: time.Second, Verdict: fact.Success, Took: 3 * time.Second}
	none := fact.AskedAgain{Probe: fact.Liveness, Patience: 30 * time.Second, Timeout: time.Second, Verdict: fact.Failure, Evidence: &fact.Evidence{Timeout: true}, Took: 30 * time.Second}
	for _, c := range []struct {
		name, question, want string
		again                []fact.AskedAgain
	}{
		{"nobody asked again", "livenessProbe.timeoutSeconds=5", "not-known", nil},
		{"late answers would have been in time", "livenessProbe.timeoutSeconds=5", "would-not-have-been", []fact.AskedAgain{came, came, came}},
		{"even later than the longer timeout", "livenessProbe.timeoutSeconds=2", "would-have-been", []fact.AskedAgain{came, came, came}},
		{"no answer at all", "livenessProbe.timeoutSeconds=5", "would-have-been", []fact.AskedAgain{none, none, none}},
		{"longer than anybody waited", "livenessProbe.timeoutSeconds=60", "not-known", []fact.AskedAgain{none, none, none}},
	} {
		w := begin(web())
		w.probe(3, ok)
		var facts []fact.Fact
		ids := []fact.ID{}
		for range 3 {
			ids = append(ids, w.last+1)
			w.probe(1, late)
		}
		facts = w.facts
		for i, a := range c.again {
			f := facts[0]
			f.ID, f.Container, f.Attempt, f.Because, f.Body = fact.ID(1000+i), "app", 0, []fact.ID{ids[i]}, a
			w.facts = append(w.facts, f)
		}
		if got := w.outcomes(t, c.question); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	// A shorter timeout makes failures of slow successes.
	w := begin(web())
	slow := ok
	slow.Took = 1500 * time.Millisecond
	w.probe(4, slow)
	if got := w.outcomes(t, "livenessProbe.timeoutSeconds=1"); got != "would-have-been-added" {
		t.Error(got)
	}
	folded := slow
	folded.Count, folded.Until = 10, w.now.Add(20*time.Second)
	w = begin(web())
	w.probe(1, folded)
	w.wait(20 * time.Second)
	if got := w.outcomes(t, "livenessProbe.timeoutSeconds=1"); got != "not-known" {
		t.Error("of folded answers the order is not known:", got)
	}
}

func TestPeriodAndDelay(t *testing.T) {
	w := begin(web())
	w.probe(5, no) // never well in its first ten seconds: ended after three
	w.probe(3, ok)
	if got := w.outcomes(t, "livenessProbe.periodSeconds=4"); got != "not-known" {
		t.Error("fewer attempts in the same time:", got)
	}
	w = begin(web())
	w.probe(10, ok)
	w.probe(3, no)
	w.probe(3, ok)
	if got := w.outcomes(t, "livenessProbe.periodSeconds=1"); got != "would-have-been" {
		t.Error("more attempts in the same time:", got)
	}
}

func TestMemory(t *testing.T) {
	w := begin(web())
	w.see("app", fact.Sampled{MemoryCurrent: 60 << 20, MemoryLimit: 64 << 20, MemoryFile: 10 << 20})
	w.wait(time.Minute)
	w.see("app", fact.OOMKilled{PID: 1, Main: true, Limit: 64 << 20, TaskCgroup: "/c", OOMCgroup: "/c"})
	w.see("app", fact.Exited{ContainerID: "a", ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
	w.wait(time.Minute)
	for question, want := range map[string]string{
		"memory=128Mi": "not-known", "limits.memory=48Mi": "would-have-been", "resources.limits.memory=64Mi": "would-have-been",
	} {
		if got := w.outcomes(t, question); got != want {
			t.Errorf("%s: %s", question, got)
		}
	}
	w = begin(web())
	w.see("app", fact.Sampled{MemoryCurrent: 60 << 20, MemoryFile: 10 << 20})
	if got := w.outcomes(t, "memory=40Mi"); got != "would-have-been-added" {
		t.Error(got)
	}
	if got := w.outcomes(t, "memory=55Mi"); got != "" {
		t.Error("page cache is given back:", got)
	}
}

func TestOutOfService(t *testing.T) {
	w := begin(web())
	w.probe(3, ok)
	w.probe(3, no)
	w.probe(3, ok)
	same := w.ask(t, "livenessProbe.failureThreshold=3").OutOfService
	if same.Was == 0 || same.AtLeast != same.Was || same.AtMost != same.Was {
		t.Errorf("the same settings: %+v", same)
	}
	if more := w.ask(t, "livenessProbe.failureThreshold=9").OutOfService; more.AtLeast >= more.AtMost {
		t.Errorf("what is not known has bounds: %+v", more)
	}
}

func TestRefused(t *testing.T) {
	for question, want := range map[string]string{
		"livenessProbe.timeoutSeconds":            "is not FIELD=VALUE",
		"livenessProbe.timeoutSeconds=fast":       "not a number",
		"livenessProbe.path=/":                    "cannot be asked about",
		"livenessProbe.timeoutSeconds=-1":         "spec.containers[0].livenessProbe.timeoutSeconds: Invalid value: -1: must be greater than or equal to 0",
		"livenessProbe.successThreshold=2":        "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
		"memory=16Mi":                             "must be less than or equal to memory limit of 16Mi",
		"memory=lots":                             "quantities must match",
		"readinessProbe.periodSeconds=5":          "no container has a readinessProbe",
		"web:livenessProbe.periodSeconds=5":       "container web does not have a livenessProbe",
		"livenessProbe.periodSeconds=99999999999": "not a number of 32 bits",
	} {
		changes, err := Parse(question)
		if err == nil {
			_, err = Ask(history.New(fact.Pod{}, []fact.Fact{{ID: 1, Body: fact.SpecSeen{Object: web()}}}, nil, nil), changes, why.Options{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", question, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"livenessProbe.timeoutSeconds=5", "app:memory=64Mi,limits.memory=1e3", "=", "a:b:c=d", ",", "startupProbe.failureThreshold=-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		changes, err := Parse(text)
		if err != nil {
			return
		}
		_, _ = Ask(history.New(fact.Pod{}, []fact.Fact{{ID: 1, Body: fact.SpecSeen{Object: web()}}}, nil, nil), changes, why.Options{})
	})
}

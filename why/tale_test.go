package why

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// tale is a history in the making: what was observed is told by the test, what
// was decided comes from package health, and the effects of decisions come by
// themselves. So a tale is as long as what matters in it.
type tale struct {
	t     *testing.T
	pod   *v1.Pod
	key   fact.Pod
	state health.State
	facts []fact.Fact
	node  []fact.Fact
	near  []fact.Fact
	now   time.Time
	last  fact.ID
	// code is what containers exit with when they are told to end; 137 takes the
	// whole grace period. fails says why a container cannot be started.
	// words are the last lines of the log of one that the node ends.
	code  int32
	words []string
	fails fact.Body
	// during is what is observed of a container between the node's decision to end it
	// and its end.
	during fact.Body
	pids   map[string]int
	junk   bool // its facts need not fit together
}

var dawn = time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)

// tell begins the tale of a pod, and lets it start.
func tell(t *testing.T, pod *v1.Pod, before ...func(*tale)) *tale {
	t.Helper()
	s := &tale{t: t, pod: pod, state: health.New(health.Policy{}), now: dawn, pids: map[string]int{}}
	pod.Namespace, pod.Name, pod.UID = "shop", "web-1", "u1"
	for i := range pod.Spec.Containers {
		for _, p := range []*v1.Probe{pod.Spec.Containers[i].LivenessProbe, pod.Spec.Containers[i].ReadinessProbe, pod.Spec.Containers[i].StartupProbe} {
			if p != nil {
				p.SuccessThreshold, p.FailureThreshold, p.PeriodSeconds, p.TimeoutSeconds = 1, 3, 2, 1
			}
		}
	}
	s.key = fact.Pod{Namespace: "shop", Name: "web-1", UID: "u1"}
	for _, b := range before {
		b(s)
	}
	s.see("", 0, fact.SpecSeen{Object: pod, Source: "api"})
	s.see("", 0, fact.Admitted{})
	return s
}

// see observes something, and lets what follows happen.
func (s *tale) see(container string, attempt int32, body fact.Body, because ...fact.ID) fact.ID {
	s.now = s.now.Add(time.Millisecond)
	s.last++
	f := fact.Fact{ID: s.last, At: s.now, Seen: s.now, Pod: s.key, Container: container, Attempt: attempt, Because: because, Body: body}
	s.facts = append(s.facts, f)
	next, decisions := health.Step(s.state, f)
	s.state = next
	var made []fact.Fact
	for _, d := range decisions {
		s.last++
		made = append(made, d.Fact(s.last, f))
	}
	s.facts = append(s.facts, made...)
	for _, d := range made {
		s.effect(d)
	}
	return f.ID
}

// effect plays the world: what comes of a decision.
func (s *tale) effect(d fact.Fact) {
	switch b := d.Body.(type) {
	case fact.SetUp:
		s.see("", 0, fact.SetUpDone{SandboxID: "s", Attempt: b.Attempt, IPs: []string{"10.42.0.3"}}, d.ID)
	case fact.Start:
		if s.fails != nil {
			s.see(d.Container, d.Attempt, s.fails, d.ID)
			return
		}
		id := d.Container + "-" + string(rune('a'+d.Attempt))
		s.pids[d.Container] += 100
		s.see(d.Container, d.Attempt, fact.Created{ContainerID: id}, d.ID)
		s.see(d.Container, d.Attempt, fact.Started{ContainerID: id, PID: s.pids[d.Container]}, d.ID)
	case fact.Kill:
		if s.during != nil {
			s.in(d.Container, s.during)
		}
		if s.code == 137 {
			s.wait(time.Duration(b.GraceSeconds) * time.Second)
		}
		s.see(d.Container, d.Attempt, fact.Exited{ContainerID: d.Container + "-" + string(rune('a'+d.Attempt)), ExitCode: s.code, OOMKnown: true, LastLines: s.words}, d.ID)
	case fact.TearDown:
		s.see("", 0, fact.TornDown{}, d.ID)
	case fact.Release:
		s.see("", 0, fact.ObjectGone{}, d.ID)
	}
}

// wait lets time pass, and the ticks that are due in it.
func (s *tale) wait(d time.Duration) {
	until := s.now.Add(d)
	for at := health.Deadline(s.state); !at.IsZero() && !at.After(until); at = health.Deadline(s.state) {
		if at.After(s.now) {
			s.now = at
		}
		n := len(s.facts)
		s.see("", 0, fact.TimePassed{})
		if len(s.facts) == n+1 {
			break
		}
	}
	if until.After(s.now) {
		s.now = until
	}
}

// attempt is the restart count of a container's newest start.
func (s *tale) attempt(container string) int32 {
	var n int32
	for _, f := range s.facts {
		if _, ok := f.Body.(fact.Start); ok && f.Container == container {
			n = f.Attempt
		}
	}
	return n
}

// in observes something in a container's newest run.
func (s *tale) in(container string, body fact.Body) fact.ID {
	return s.see(container, s.attempt(container), body)
}

// exit ends a container by itself.
func (s *tale) exit(container string, e fact.Exited) {
	e.ContainerID = container + "-" + string(rune('a'+s.attempt(container)))
	s.in(container, e)
}

// probe makes so many attempts, two seconds apart.
func (s *tale) probe(container string, n int, b fact.Probed) {
	for range n {
		s.in(container, b)
		s.wait(2 * time.Second)
	}
}

// ask explains the pod as it is now.
func (s *tale) ask() answer.Answer {
	a := Explain(history.New(s.key, s.facts, s.node, s.near), Options{Now: s.now})
	s.watched(a)
	if raw, err := json.Marshal(a); err != nil || strings.ContainsFunc(string(raw), func(r rune) bool { return unicode.Is(unicode.Co, r) }) {
		s.t.Errorf("a mark is left in what people read: %s %v", raw, err)
	}
	return a
}

// What attempts look like.

func good(kind fact.ProbeKind, took time.Duration) fact.Probed {
	return fact.Probed{Probe: kind, Verdict: fact.Success, Took: took, Evidence: &fact.Evidence{Handler: fact.HTTPGet, Target: "http://10.0.0.1:8080/", Status: 200}}
}

func attempt(kind fact.ProbeKind, ev fact.Evidence) fact.Probed {
	if ev.Handler == "" {
		ev.Handler = fact.HTTPGet
	}
	if ev.Target == "" {
		ev.Target = "http://10.0.0.1:8080/"
	}
	return fact.Probed{Probe: kind, Verdict: fact.Failure, Took: 3 * time.Millisecond, Evidence: &ev, Message: "failed"}
}

func connectionRefused(kind fact.ProbeKind) fact.Probed {
	return attempt(kind, fact.Evidence{Errno: "ECONNREFUSED"})
}

func noAnswer(kind fact.ProbeKind) fact.Probed {
	b := attempt(kind, fact.Evidence{Connect: 200 * time.Microsecond, Timeout: true})
	b.Took = time.Second
	return b
}

func status(kind fact.ProbeKind, code int, body string) fact.Probed {
	return attempt(kind, fact.Evidence{Status: code, Connect: time.Millisecond, FirstByte: time.Millisecond, Output: body})
}

func command(kind fact.ProbeKind, code int) fact.Probed {
	return attempt(kind, fact.Evidence{Handler: fact.Exec, Target: "check", ExitCode: &code})
}

// What pods look like.

func httpProbe(port int) *v1.Probe {
	return &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(int32(port))}}}
}

func web(change ...func(*v1.Container)) *v1.Pod {
	grace := int64(2)
	c := v1.Container{Name: "app", Image: "app:1", LivenessProbe: httpProbe(8080)}
	for _, f := range change {
		f(&c)
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Generation: 1},
		Spec:       v1.PodSpec{RestartPolicy: v1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace, Containers: []v1.Container{c}},
	}
}

func ready(c *v1.Container)       { c.LivenessProbe, c.ReadinessProbe = nil, httpProbe(8080) }
func silentProbe(c *v1.Container) { c.LivenessProbe = nil }
func with(n string) func(*v1.Pod) *v1.Pod {
	return func(p *v1.Pod) *v1.Pod {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: n, Image: "other:1"})
		return p
	}
}

package why

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// case of a table: what happened, and what the first verdict must and must not say.
type question struct {
	name string
	pod  *v1.Pod
	// set prepares the world before the pod starts.
	set  func(*tale)
	tale func(*tale)

	symptom      answer.SymptomKind
	cause        answer.Cause
	certainty    answer.Certainty
	ruledOut     []answer.Cause
	contributing []answer.Cause
	says         string
}

func (q question) run(t *testing.T) {
	s := tell(t, q.pod, func(s *tale) {
		if q.set != nil {
			q.set(s)
		}
	})
	if q.tale != nil {
		q.tale(s)
	}
	a := s.ask()
	check(t, a)
	s.laws(a)
	v := a.Verdicts[0]
	if a.Symptoms[0].Kind != q.symptom || v.Cause != q.cause || q.certainty != "" && v.Certainty != q.certainty {
		t.Fatalf("%s: %s (%s), want %s: %s (%s)\n%s", a.Symptoms[0].Kind, v.Cause, v.Certainty, q.symptom, q.cause, q.certainty, a.Text(answer.Style{Wide: true}))
	}
	for _, c := range q.ruledOut {
		if !slices.ContainsFunc(v.RuledOut, func(n answer.Note) bool { return n.Cause == c }) {
			t.Errorf("%s is not ruled out:\n%s", c, a.Text(answer.Style{Wide: true}))
		}
	}
	for _, c := range q.contributing {
		if !slices.ContainsFunc(v.Contributing, func(n answer.Note) bool { return n.Cause == c }) {
			t.Errorf("%s is not said to contribute:\n%s", c, a.Text(answer.Style{Wide: true}))
		}
	}
	if q.contributing != nil && len(v.Contributing) != len(q.contributing) {
		t.Errorf("more than %v is said to contribute:\n%s", q.contributing, a.Text(answer.Style{Wide: true}))
	}
	if !strings.Contains(v.Text, q.says) {
		t.Errorf("%q does not say %q", v.Text, q.says)
	}
}

var (
	oomOfMain  = fact.OOMKilled{PID: 100, Command: "app", Main: true, AnonRSS: 23 << 20, Limit: 24 << 20, Constraint: "CONSTRAINT_MEMCG", TaskCgroup: "/kubepods/podu1/c", OOMCgroup: "/kubepods/podu1/c"}
	oomOfChild = fact.OOMKilled{PID: 117, Command: "worker", AnonRSS: 23 << 20, Limit: 24 << 20, Constraint: "CONSTRAINT_MEMCG", TaskCgroup: "/kubepods/podu1/c", OOMCgroup: "/kubepods/podu1/c"}
)

func at(cgroup string, o fact.OOMKilled) fact.OOMKilled { o.OOMCgroup = cgroup; return o }

// Files in memory outlive the run that wrote them, and may leave no room to start in.
func TestNoRoomToStart(t *testing.T) {
	s := tell(t, web(silentProbe))
	o := oomOfMain
	o.AnonRSS, o.Limit, o.Tasks = 2<<20, 32<<20, []fact.OOMTask{{PID: 100, Command: "app", RSS: 2 << 20}}
	s.in("app", o)
	s.fails = fact.StartFailed{Reason: "RunContainerError", Message: "runc create failed: unable to start container process: container init was OOM-killed (memory limit too low?)"}
	s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
	a := s.ask()
	check(t, a)
	for i, v := range a.Verdicts {
		if v.Cause != answer.MemoryBackedVolume {
			t.Errorf("%s: %s", a.Symptoms[i].Kind, a.Text(answer.Style{}))
		}
	}
	if a.Symptoms[0].Kind != answer.NotStarting {
		t.Error(a.Text(answer.Style{}))
	}
}

// A container that could not be started at first, and was, ends as any other does.
func TestEndsAfterFailedStart(t *testing.T) {
	s := tell(t, web(silentProbe), func(s *tale) {
		s.fails = fact.StartFailed{Reason: "CreateContainerConfigError", Message: `configmap "none" not found`}
	})
	s.wait(20 * time.Second)
	if a := s.ask(); a.Symptoms[0].Kind != answer.NotStarting || a.Verdicts[0].Cause != answer.ConfigMissing {
		t.Error(a.Text(answer.Style{}))
	}
	s.fails = nil
	s.wait(20 * time.Second)
	s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true})
	a := s.ask()
	check(t, a)
	if a.Symptoms[0].Kind != answer.Restarted || a.Verdicts[0].Cause != answer.AppExitError {
		t.Error(a.Text(answer.Style{}))
	}
}

func TestUnready(t *testing.T) {
	s := tell(t, web(ready))
	s.probe("app", 5, status(fact.Readiness, 503, "warming up"))
	a := s.ask()
	check(t, a)
	if a.Symptoms[0].Kind != answer.NotReady || a.Verdicts[0].Cause != answer.AppUnhealthy {
		t.Fatal(a.Text(answer.Style{}))
	}
	s.probe("app", 2, good(fact.Readiness, time.Millisecond))
	if a = s.ask(); a.Symptoms[0].Kind != answer.NotReady || a.Verdicts[0].Cause != answer.AppUnhealthy || !strings.Contains(a.Symptoms[0].Text, "until") {
		t.Fatalf("after recovery: %s", a.Text(answer.Style{}))
	}
	if a = Explain(history.New(s.key, s.facts, nil, nil), Options{Now: s.now, Since: s.now}); a.Symptoms[0].Kind != answer.Healthy {
		t.Fatalf("since now: %s", a.Text(answer.Style{}))
	}
}

func TestDeletion(t *testing.T) {
	s := tell(t, web(silentProbe))
	s.code = 137
	s.see("", 0, fact.DeletionSeen{GraceSeconds: 2, By: "kubectl"})
	a := s.ask()
	check(t, a)
	if a.Symptoms[0].Kind != answer.Disappeared || a.Verdicts[0].Cause != answer.Deleted || !a.Explained() {
		t.Fatal(a.Text(answer.Style{}))
	}
}

// A pod that has not become ready yet is not well, and has not failed.
func TestStillStarting(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	pod := web(silentProbe)
	pod.Spec.InitContainers = []v1.Container{{
		Name: "proxy", RestartPolicy: &always,
		StartupProbe: &v1.Probe{FailureThreshold: 1000, PeriodSeconds: 2, SuccessThreshold: 1, TimeoutSeconds: 1, ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(15000)}}},
	}}
	s := tell(t, pod)
	a := s.ask()
	check(t, a)
	if a.Symptoms[0].Kind != answer.NotStarting || a.Verdicts[0].Cause != answer.InitWaiting || a.Verdicts[0].Container != "proxy" {
		t.Fatalf("before the first attempt: %s", a.Text(answer.Style{}))
	}
	s.probe("proxy", 20, connectionRefused(fact.Startup))
	s.in("proxy", fact.Looked{PID: 100, State: "S", Over: time.Second})
	s.probe("proxy", 5, connectionRefused(fact.Startup))
	if a = s.ask(); a.Symptoms[0].Kind != answer.NotStarting || a.Verdicts[0].Cause != answer.AppNotListening || a.Verdicts[0].Container != "proxy" {
		t.Fatalf("while nobody listens: %s", a.Text(answer.Style{}))
	}
	check(t, a)
	s.in("proxy", good(fact.Startup, time.Millisecond))
	if a = s.ask(); a.Symptoms[0].Kind != answer.Healthy {
		t.Fatalf("after it has started: %s", a.Text(answer.Style{}))
	}

	s = tell(t, web(ready))
	if a = s.ask(); a.Symptoms[0].Kind != answer.NotReady || a.Verdicts[0].Cause != answer.None || !a.Explained() {
		t.Fatalf("before its first readiness probe: %s", a.Text(answer.Style{}))
	}
}

func TestGateAndSibling(t *testing.T) {
	pod := with("side")(web(ready))
	pod.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "example.com/gate"}}
	s := tell(t, pod)
	s.probe("app", 2, good(fact.Readiness, time.Millisecond))
	if a := s.ask(); a.Verdicts[0].Cause != answer.ReadinessGate || a.Verdicts[0].Certainty != answer.Recorded {
		t.Fatal(a.Text(answer.Style{}))
	}
	s.in("side", oomOfMain)
	s.exit("side", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
	s.in("side", oomOfMain)
	s.exit("side", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
	a := s.ask()
	check(t, a)
	i := slices.IndexFunc(a.Verdicts, func(v answer.Verdict) bool { return v.Cause == answer.SiblingNotReady })
	if i < 0 || a.Verdicts[i].Container != "side" {
		t.Fatal(a.Text(answer.Style{}))
	}
}

func TestUnseenByStatus(t *testing.T) {
	s := tell(t, web(silentProbe))
	for range 3 {
		s.in("app", oomOfChild)
		s.wait(20 * time.Second)
	}
	if a := s.ask(); a.Symptoms[0].Kind != answer.Healthy || a.Verdicts[0].Cause != answer.MemoryLimitChild {
		t.Fatal(a.Text(answer.Style{}))
	}
	s = tell(t, web(silentProbe))
	s.in("app", fact.Sampled{MemoryCurrent: 31 << 20, MemoryLimit: 32 << 20, MemoryFile: 30 << 20})
	if a := s.ask(); a.Verdicts[0].Cause != answer.None || len(a.Verdicts[0].RuledOut) == 0 {
		t.Fatal(a.Text(answer.Style{}))
	}
}

package why

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// On cgroup v2 the main process dies with a child that was too large; the answer names
// the child, and what took the rest.
func TestOOMOfTheGroup(t *testing.T) {
	main := oomOfMain
	main.Group = true
	s := tell(t, web(silentProbe))
	s.in("app", oomOfChild)
	s.in("app", main)
	s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 2, MainOOMKilled: true})
	a := s.ask()
	check(t, a)
	if v := a.Verdicts[0]; v.Cause != answer.MemoryLimit || !strings.Contains(v.Text, "child (worker, pid 117)") || !strings.Contains(v.Text, "memory.oom.group") {
		t.Errorf("%s: %s", v.Cause, v.Text)
	}
}

// What the kernel's counters tell of has no pid.
func TestNoPID(t *testing.T) {
	pod := web(silentProbe)
	pod.Spec.RestartPolicy = v1.RestartPolicyAlways
	for _, o := range []fact.OOMKilled{{}, {Main: true}} {
		s := tell(t, pod.DeepCopy())
		s.in("app", o)
		s.in("app", fact.ProcessEnded{Signal: 9})
		s.in("app", fact.Signalled{Signal: 9, Main: o.Main, Origin: fact.FromHost})
		if o.Main {
			s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
		}
		a := s.ask()
		check(t, a)
		if text := a.Text(answer.Style{Wide: true}); strings.Contains(text, "pid 0") || strings.Contains(text, "()") || strings.Contains(text, ": (") {
			t.Error(text)
		}
	}
}

// What was refused while it started is no sign of a blocked way once it answers, and one
// that is about to serve whom it lets wait does not hang.
func TestCameUpSince(t *testing.T) {
	serves := fact.Looked{PID: 100, State: "S", Processes: 2, Over: time.Second, Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 100}}}
	waits := serves
	waits.Listeners = []fact.Listener{{Address: "0.0.0.0:8080", PID: 100, Backlog: 3}}
	for _, q := range []question{
		{name: "it answers with 500 since", pod: web(ready), symptom: answer.NotReady, cause: answer.AppUnhealthy, says: "with 500", tale: func(s *tale) {
			s.probe("app", 9, connectionRefused(fact.Readiness))
			s.in("app", serves)
			s.probe("app", 1, status(fact.Readiness, 500, "no"))
		}},
		{name: "it is refused although it listens", pod: web(ready), symptom: answer.NotReady, cause: answer.NetworkBlocked, tale: func(s *tale) {
			s.probe("app", 3, connectionRefused(fact.Readiness))
			s.in("app", serves)
			s.probe("app", 3, connectionRefused(fact.Readiness))
		}},
		{name: "its workers start, and the main process waits for them", pod: web(ready), symptom: answer.NotReady, cause: answer.CauseUnknown, tale: func(s *tale) {
			s.in("app", fact.Sampled{CPUUsage: time.Second})
			s.probe("app", 1, noAnswer(fact.Readiness))
			s.in("app", waits)
			s.probe("app", 1, noAnswer(fact.Readiness))
			s.in("app", fact.Sampled{CPUUsage: 1500 * time.Millisecond, CPUSome: 3 * time.Second})
		}},
		{name: "it has only just begun to listen", pod: web(ready), symptom: answer.NotReady, cause: answer.CauseUnknown, tale: func(s *tale) {
			s.probe("app", 3, connectionRefused(fact.Readiness))
			s.in("app", waits)
			s.probe("app", 2, noAnswer(fact.Readiness))
			s.in("app", waits)
		}},
		{name: "it began to listen, and accepts nothing", pod: web(ready), symptom: answer.NotReady, cause: answer.AppHang, tale: func(s *tale) {
			s.probe("app", 3, connectionRefused(fact.Readiness))
			s.probe("app", 8, noAnswer(fact.Readiness))
			s.in("app", waits)
		}},
		{name: "connections wait at its start", pod: web(silentProbe), symptom: answer.Healthy, cause: answer.None, tale: func(s *tale) {
			s.wait(20 * time.Second)
			s.in("app", waits)
			s.wait(5 * time.Second)
			s.in("app", waits)
		}},
		{name: "connections wait once", pod: web(silentProbe), symptom: answer.Healthy, cause: answer.None, tale: func(s *tale) {
			s.wait(5 * time.Minute)
			s.in("app", waits)
		}},
	} {
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
	s := tell(t, web(silentProbe))
	s.wait(5 * time.Minute)
	s.in("app", waits)
	s.wait(5 * time.Second)
	s.in("app", waits)
	if v := s.ask().Verdicts[0]; v.Cause != answer.AppHang || v.Rule != "hang" {
		t.Errorf("connections that go on waiting: %s: %s", v.Cause, v.Text)
	}
}

// A start that the node itself called off keeps nothing from being started.
func TestCalledOff(t *testing.T) {
	s := tell(t, web(silentProbe))
	s.fails = fact.StartFailed{Reason: calledOff, Message: "the start was called off before there was a container"}
	s.exit("app", fact.Exited{ExitCode: 3, StatusKnown: true, OOMKnown: true, LastLines: []string{"no luck"}})
	if a := s.ask(); len(a.Verdicts) != 1 || a.Verdicts[0].Cause != answer.AppExitError {
		t.Errorf("%s", a.Text(answer.Style{}))
	}
}

// A command that fails in a run that is younger than the one before was when it became ready tells of its start alone.
func TestOnItsWay(t *testing.T) {
	one := 1
	const command = "test -e /tmp/ready"
	by := func(verdict fact.Verdict, code *int) fact.Probed {
		return fact.Probed{Probe: fact.Readiness, Verdict: verdict, Message: "failed", Evidence: &fact.Evidence{Handler: fact.Exec, Target: command, ExitCode: code}}
	}
	s := tell(t, web(func(c *v1.Container) {
		c.LivenessProbe, c.ReadinessProbe = nil, &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: strings.Fields(command)}}}
	}))
	s.probe("app", 4, by(fact.Failure, &one))
	s.probe("app", 2, by(fact.Success, new(int)))
	s.exit("app", fact.Exited{ExitCode: 3, StatusKnown: true, OOMKnown: true, LastLines: []string{"no luck"}})
	s.wait(time.Second)
	s.probe("app", 2, by(fact.Failure, &one))
	if a := s.ask(); len(a.Verdicts) != 1 || a.Verdicts[0].Cause != answer.AppExitError {
		t.Errorf("as it starts again: %s", a.Text(answer.Style{}))
	}
	s.probe("app", 4, by(fact.Failure, &one))
	if a := s.ask(); len(a.Verdicts) != 2 {
		t.Errorf("when it takes longer: %s", a.Text(answer.Style{}))
	}
}

// A pod that is evicted while its container starts has that ended twice, of which the second order is carried out.
func TestKilledAsItStarts(t *testing.T) {
	pod := fact.Pod{Namespace: "shop", Name: "web-1", UID: "u1"}
	var facts []fact.Fact
	add := func(container string, body fact.Body, because ...fact.ID) {
		at := dawn.Add(time.Duration(len(facts)) * time.Millisecond)
		facts = append(facts, fact.Fact{ID: fact.ID(len(facts) + 1), At: at, Seen: at, Pod: pod, Container: container, Because: because, Body: body})
	}
	object := web(silentProbe)
	object.Namespace, object.Name, object.UID = pod.Namespace, pod.Name, pod.UID
	add("", fact.SpecSeen{Object: object, Source: "api"})
	add("", fact.Admitted{})
	add("app", fact.Start{}, 1)
	add("app", fact.Created{ContainerID: "a"}, 3)
	add("", fact.EvictionNeeded{Reason: "Evicted", Message: "too much"})
	add("", fact.Evict{Reason: "Evicted", Message: "too much"}, 5)
	add("app", fact.Kill{Reason: fact.KillEviction, GraceSeconds: 1}, 5)
	add("app", fact.Started{ContainerID: "a", PID: 9}, 3)
	add("app", fact.Kill{Reason: fact.KillEviction, GraceSeconds: 1}, 8, 5)
	add("app", fact.Exited{ContainerID: "a", ExitCode: 137, Signal: 9, StatusKnown: true, OOMKnown: true}, 9)
	a := Explain(history.New(pod, facts, nil, nil), Options{Now: dawn.Add(2 * time.Second)})
	for _, v := range a.Verdicts {
		if v.Cause == answer.KilledByOther {
			t.Errorf("%s", a.Text(answer.Style{}))
		}
	}
}

// What shows that a container will not start counts while its startup probe has patience left.
func TestStartingElsewhere(t *testing.T) {
	s := tell(t, web(func(c *v1.Container) { c.LivenessProbe, c.StartupProbe = nil, httpProbe(8080) }))
	s.pod.Spec.Containers[0].StartupProbe.FailureThreshold = 60
	look := fact.Looked{PID: 100, State: "S", Processes: 1, Over: time.Second, CPUTotal: time.Second, Age: 20 * time.Second, Listeners: []fact.Listener{{Address: "0.0.0.0:8100", PID: 100, Command: "java"}}}
	for range 4 {
		s.probe("app", 1, connectionRefused(fact.Startup))
		s.in("app", look)
	}
	if v := s.ask().Verdicts[0]; v.Cause != answer.ProbeWrongPort {
		t.Errorf("%s: %s", v.Cause, v.Text)
	}
}

// One that is ended while it counts what it loads is slow to start, by a probe that wants its file, too.
func TestCountsAsItLoads(t *testing.T) {
	one := 1
	s := tell(t, web(func(c *v1.Container) {
		c.ReadinessProbe, c.LivenessProbe = nil, &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"rm", "/tmp/health.txt"}}}}
	}))
	s.code, s.words = 137, []string{"load module=a.tasks (1 of 16)", "load module=b (2 of 16)", "load module=c.x (3 of 16)"}
	s.probe("app", 3, attempt(fact.Liveness, fact.Evidence{Handler: fact.Exec, Target: "rm /tmp/health.txt", Output: "rm: can't remove '/tmp/health.txt': No such file or directory", ExitCode: &one}))
	if v := s.ask().Verdicts[0]; v.Cause != answer.AppSlowStart {
		t.Errorf("%s: %s", v.Cause, v.Text)
	}
}

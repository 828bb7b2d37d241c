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

// Answers that were wrong once, each told as it was recorded.
func TestWrongOnce(t *testing.T) {
	settings := fact.ConfigChanged{Object: "ConfigMap", Name: "settings", By: "kubectl-patch", Keys: []string{"mode"}}
	shell := fact.Looked{PID: 100, State: "S", Processes: 2, Over: time.Second}
	used := func(cpu, waited time.Duration) fact.Sampled {
		return fact.Sampled{MemoryCurrent: 1, CPUUsage: cpu, CPUSome: waited}
	}
	starting := func(samples ...fact.Sampled) func(*tale) {
		return func(s *tale) {
			s.probe("app", 1, connectionRefused(fact.Liveness))
			s.in("app", shell)
			for _, b := range samples {
				s.in("app", b)
				s.wait(time.Second)
			}
			s.probe("app", 2, connectionRefused(fact.Liveness))
		}
	}
	queue := fact.Looked{PID: 100, State: "S", Processes: 3, Over: time.Second, Listeners: []fact.Listener{{Address: "[::]:8080", PID: 100, Backlog: 4}}}
	stalled := func(after fact.Body) func(*tale) {
		return func(s *tale) {
			s.probe("app", 5, good(fact.Liveness, time.Millisecond))
			s.probe("app", 1, noAnswer(fact.Liveness))
			s.in("app", queue)
			s.probe("app", 1, noAnswer(fact.Liveness))
			s.during = after
			s.probe("app", 1, noAnswer(fact.Liveness))
		}
	}
	workers := func(rest fact.OOMKilled) func(*tale) {
		return func(s *tale) {
			for _, held := range []int64{75, 20, 6} {
				o := oomOfChild
				o.PID, o.AnonRSS, o.Limit = 200+int(held), held<<20, 96<<20
				s.in("app", o)
				s.wait(100 * time.Millisecond)
			}
			s.in("app", rest)
			s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 4, MainOOMKilled: true})
		}
	}
	main := func(change func(*fact.OOMKilled)) fact.OOMKilled {
		o := oomOfMain
		o.AnonRSS, o.FileRSS, o.Limit = 5<<20, 1<<20, 96<<20
		o.Tasks = []fact.OOMTask{{PID: 100, Command: "apache2", RSS: 6 << 20}, {PID: 300, Command: "apache2", RSS: 18 << 20}}
		change(&o)
		return o
	}
	end := func(o fact.OOMKilled) func(*tale) {
		return func(s *tale) {
			s.in("app", o)
			s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
		}
	}
	brokeOff := func(code int32) func(*tale) {
		return func(s *tale) {
			s.during = fact.Exited{ContainerID: "app-a", ExitCode: code, StatusKnown: true, OOMKnown: true, LastLines: []string{"Undefined subroutine"}}
			s.probe("app", 3, attempt(fact.Liveness, fact.Evidence{Error: "EOF", Connect: time.Millisecond}))
		}
	}
	pings := func(c *v1.Container) {
		c.LivenessProbe.ProbeHandler = v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"celery", "-b", "redis://redis:6379/0", "inspect", "ping", "-d", "celery@$HOSTNAME"}}}
	}
	nobodyReplies := command(fact.Liveness, 69)
	nobodyReplies.Evidence.Target, nobodyReplies.Evidence.Output = "celery -b redis://redis:6379/0 inspect ping -d celery@$HOSTNAME", "Error: No nodes replied within time constraint"
	queued := func(took time.Duration) func(*tale) {
		return func(s *tale) {
			s.probe("app", 3, good(fact.Readiness, took))
			s.in("app", noAnswer(fact.Readiness))
			s.wait(time.Second)
			s.in("app", noAnswer(fact.Readiness))
			s.wait(time.Second)
			s.in("app", noAnswer(fact.Readiness))
			s.in("app", fact.Looked{PID: 100, State: "S", Processes: 1, Over: time.Second, Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 100, Command: "app", Backlog: 1}}})
		}
	}
	for _, q := range []question{
		{name: "a changed ConfigMap reaches the pod a minute later, and it had been refused while it came up", pod: web(ready), symptom: answer.NotReady, cause: answer.ConfigChanged, says: "ConfigMap settings", tale: func(s *tale) {
			s.probe("app", 2, connectionRefused(fact.Readiness))
			s.probe("app", 40, good(fact.Readiness, time.Millisecond))
			s.see("", 0, settings)
			s.probe("app", 35, good(fact.Readiness, time.Millisecond))
			s.probe("app", 3, status(fact.Readiness, 500, "unknown mode: bad"))
		}},
		{name: "it is ready, and attempts failed in between", pod: web(ready), symptom: answer.Healthy, cause: answer.None, says: "The readiness probe of container app failed twice since it first succeeded, last at 05:00:", tale: func(s *tale) {
			s.probe("app", 4, good(fact.Readiness, time.Millisecond))
			s.probe("app", 1, noAnswer(fact.Readiness))
			s.probe("app", 2, good(fact.Readiness, time.Millisecond))
			s.probe("app", 1, noAnswer(fact.Readiness))
			s.probe("app", 1, good(fact.Readiness, time.Millisecond))
		}},
		{name: "it is ready, and its last attempt failed", pod: web(ready), symptom: answer.Healthy, cause: answer.AppUnhealthy, says: "It has been ready since 05:00:00 all the same: 3 in a row make it not ready.", tale: func(s *tale) {
			s.probe("app", 4, good(fact.Readiness, time.Millisecond))
			s.probe("app", 1, status(fact.Readiness, 500, "busy"))
		}},
		{name: "it is ready, and nobody knows why its last attempt failed", pod: web(ready), symptom: answer.Healthy, cause: answer.CauseUnknown, says: "It has been ready since 05:00:00 all the same: 3 in a row make it not ready.", tale: func(s *tale) {
			s.probe("app", 4, good(fact.Readiness, time.Millisecond))
			s.probe("app", 1, noAnswer(fact.Readiness))
		}},
		{name: "a slow server, one connection after the other, has been silent for a moment", pod: web(ready), symptom: answer.NotReady, cause: answer.ProbeTimeoutTooShort, says: "3 good answers took more than half of it", tale: queued(700 * time.Millisecond)},
		{name: "the same of one that was quick", pod: web(ready), symptom: answer.NotReady, cause: answer.AppHang, says: "1 connection waits to be accepted", tale: queued(5 * time.Millisecond)},
		{name: "it was well for long after the change", pod: web(ready), symptom: answer.NotReady, cause: answer.AppUnhealthy, tale: func(s *tale) {
			s.probe("app", 40, good(fact.Readiness, time.Millisecond))
			s.see("", 0, settings)
			s.probe("app", 100, good(fact.Readiness, time.Millisecond))
			s.probe("app", 3, status(fact.Readiness, 500, "unknown mode: bad"))
		}},
		{name: "a shell waits for a child that is at work on its start", symptom: answer.Restarted, cause: answer.AppSlowStart, says: "at work: 3.8 s CPU in 2 s", tale: starting(used(time.Second, 0), used(2800*time.Millisecond, 0), used(4800*time.Millisecond, 0))},
		{name: "the same, and others use the CPU", symptom: answer.Restarted, cause: answer.AppSlowStart, says: "they waited", tale: starting(used(time.Second, 0), used(1200*time.Millisecond, 700*time.Millisecond), used(1900*time.Millisecond, 3*time.Second))},
		{name: "it comes up, and gets no CPU", symptom: answer.Restarted, cause: answer.AppSlowStart, says: "they waited", tale: starting(used(time.Second, 0), used(1050*time.Millisecond, time.Second), used(1100*time.Millisecond, 4*time.Second))},
		{name: "a shell waits for a child that waits", symptom: answer.Restarted, cause: answer.AppNotListening, tale: starting(used(time.Second, 0), used(1010*time.Millisecond, 0), used(1020*time.Millisecond, 100*time.Millisecond))},
		{name: "a shell waits for a child that nobody saw", symptom: answer.Restarted, cause: answer.CauseUnknown, tale: starting()},
		{name: "workers wait for memory, and the first is killed after the attempts", symptom: answer.Restarted, cause: answer.MemoryLimitChild, says: "before the first of them was killed", tale: stalled(oomOfChild)},
		{name: "workers were killed before the liveness probe was asked for the first time", pod: web(func(c *v1.Container) { c.ReadinessProbe = httpProbe(8080) }), symptom: answer.Restarted, cause: answer.MemoryLimitChild, tale: func(s *tale) {
			s.probe("app", 2, good(fact.Readiness, time.Millisecond))
			s.probe("app", 1, noAnswer(fact.Liveness))
			s.in("app", queue)
			s.in("app", oomOfChild)
			s.probe("app", 2, noAnswer(fact.Liveness))
		}},
		{name: "the same on a busy node, in a run that no probe found well", symptom: answer.Restarted, cause: answer.MemoryLimitChild, tale: func(s *tale) {
			s.probe("app", 2, good(fact.Liveness, time.Millisecond))
			s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true})
			s.wait(15 * time.Second)
			s.in("app", used(time.Second, 0))
			s.in("app", oomOfChild)
			s.probe("app", 2, noAnswer(fact.Liveness))
			s.in("app", queue)
			s.in("app", used(1100*time.Millisecond, time.Hour))
			s.probe("app", 1, noAnswer(fact.Liveness))
		}},
		{name: "it crashed over the probe's question, and the node's kill came when it was over", symptom: answer.Restarted, cause: answer.AppExitError, says: "while it was to answer", tale: brokeOff(29)},
		{name: "the kill may have brought that about", symptom: answer.Restarted, cause: answer.AppUnhealthy, tale: brokeOff(143)},
		{name: "a queue, and no worker killed", symptom: answer.Restarted, cause: answer.AppHang, tale: stalled(nil)},
		{name: "many workers died at once and had not given back their memory", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.MemoryLimit, tale: workers(main(func(*fact.OOMKilled) {}))},
		{name: "more processes than the record has room for", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.MemoryLimit, tale: end(main(func(o *fact.OOMKilled) {
			for i := range 18 {
				o.Tasks = append(o.Tasks, fact.OOMTask{PID: 400 + i, Command: "apache2", RSS: 1 << 20})
			}
		}))},
		{name: "a script takes no notice of the OOM kill of what it runs", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.MemoryLimitChild, says: "with exit code 0", tale: func(s *tale) {
			s.in("app", oomOfChild)
			s.wait(68 * time.Millisecond)
			s.exit("app", fact.Exited{ExitCode: 0, OOMKnown: true, OOMKills: 1})
		}},
		{name: "it ends a second later, and well", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppExitSuccess, tale: func(s *tale) {
			s.in("app", oomOfChild)
			s.wait(time.Second)
			s.exit("app", fact.Exited{ExitCode: 0, OOMKnown: true, OOMKills: 1})
		}},
		{name: "a probe's command without a shell asks another by a name that nobody has", pod: web(pings), symptom: answer.Restarted, cause: answer.ProbeCommandFailed, says: "so $HOSTNAME in it stays as it is written", tale: func(s *tale) {
			s.probe("app", 3, nobodyReplies)
		}},
		{name: "the same by a shell", pod: web(pings, func(c *v1.Container) {
			c.LivenessProbe.Exec.Command = append([]string{"sh", "-c"}, strings.Join(c.LivenessProbe.Exec.Command, " "))
		}), symptom: answer.Restarted, cause: answer.DependencyDown, tale: func(s *tale) { s.probe("app", 3, nobodyReplies) }},
		{name: "the cgroup's statistics say that it was processes", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.MemoryLimit, tale: end(main(func(o *fact.OOMKilled) { o.CgroupAnon, o.CgroupShmem = 90<<20, 1<<20 }))},
		{name: "files in /dev/shm, and a victim that held half of the limit as libraries", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.MemoryBackedVolume, says: "held only 7Mi", tale: end(main(func(o *fact.OOMKilled) {
			o.Limit, o.FileRSS, o.CgroupAnon, o.CgroupShmem = 32<<20, 10<<20, 7<<20, 15<<20
			o.Tasks = []fact.OOMTask{{PID: 100, Command: "perl", RSS: 15 << 20}, {PID: 117, Command: "dd", RSS: 2 << 20}}
		}))},
	} {
		if q.pod == nil {
			q.pod = web()
		}
		t.Run(q.name, q.run)
	}
}

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
	if v := s.ask().Verdicts[0]; v.Cause != answer.AppHang || v.Rule != "hang-unseen" {
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

package why

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// What the kernel told of signals and of ended processes.
func TestKernelsWord(t *testing.T) {
	term := fact.Signalled{Signal: 15, PID: 100, Main: true, Origin: fact.FromHost, SenderPID: 4711, SenderCommand: "cleanup.sh"}
	kill := fact.Signalled{Signal: 9, PID: 100, Main: true, Origin: fact.FromHost, SenderPID: 4711, SenderCommand: "cleanup.sh"}
	from := func(s fact.Signalled, origin fact.SignalOrigin, pid int) fact.Signalled {
		s.Origin, s.SenderPID = origin, pid
		return s
	}
	for _, q := range []question{
		{name: "SIGKILL of a process on the node", cause: answer.KilledByOther, says: "cleanup.sh (pid 4711) on the node", ruledOut: []answer.Cause{answer.MemoryLimit}, tale: func(s *tale) {
			s.in("app", kill)
			s.exit("app", fact.Exited{ExitCode: 137, Signal: 9, StatusKnown: true, OOMKnown: true})
		}},
		{name: "SIGTERM that was heeded with exit code 0", cause: answer.KilledByOther, says: "exit code 0", tale: func(s *tale) {
			s.in("app", term)
			s.wait(3 * time.Second)
			s.exit("app", fact.Exited{StatusKnown: true, OOMKnown: true})
		}},
		{name: "another container sent it", cause: answer.KilledByOther, says: "in container side", tale: func(s *tale) {
			b := from(kill, fact.FromContainer, 200)
			b.SenderContainer = "side"
			s.in("app", b)
			s.exit("app", fact.Exited{ExitCode: 137, Signal: 9, OOMKnown: true})
		}},
		{name: "the runtime, on somebody's order", cause: answer.KilledByOther, says: "container runtime", tale: func(s *tale) {
			s.in("app", from(kill, fact.FromNode, 5))
			s.exit("app", fact.Exited{ExitCode: 137, Signal: 9, OOMKnown: true})
		}},
		{name: "it sent the signal to itself", cause: answer.AppCrashSignal, says: "to itself", tale: func(s *tale) {
			s.in("app", from(kill, fact.FromContainer, 100))
			s.exit("app", fact.Exited{ExitCode: 137, Signal: 9, OOMKnown: true})
		}},
		{name: "a SIGTERM long ago has nothing to do with it", cause: answer.AppExitError, tale: func(s *tale) {
			s.in("app", term)
			s.wait(time.Minute)
			s.exit("app", fact.Exited{ExitCode: 3, StatusKnown: true, OOMKnown: true})
		}},
		{name: "the kernel's own SIGKILL is the OOM killer's", cause: answer.MemoryLimit, tale: func(s *tale) {
			s.in("app", oomOfMain)
			s.in("app", from(kill, fact.FromKernel, 0))
			s.exit("app", fact.Exited{ExitCode: 137, Signal: 9, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
		}},
		{name: "the kernel's own SIGKILL, and a limit of CPU time", cause: answer.AppCrashSignal, says: "3 s of CPU time", ruledOut: []answer.Cause{answer.KilledByOther, answer.MemoryLimit}, tale: func(s *tale) {
			s.in("app", fact.Looked{PID: 100, MaxCPU: 3 * time.Second, Calm: true})
			s.exit("app", fact.Exited{ExitCode: 137, Signal: 9, StatusKnown: true, OOMKnown: true, ByKernel: true})
		}},
		{name: "SIGKILL of nobody knows whom, and a limit of CPU time", cause: answer.CauseUnknown, says: "app-crash-signal and killed-by-other", tale: func(s *tale) {
			s.in("app", fact.Looked{PID: 100, MaxCPU: 3 * time.Second, Calm: true})
			s.exit("app", fact.Exited{ExitCode: 137, Signal: 9, StatusKnown: true, OOMKnown: true})
		}},
		{name: "SIGXCPU", cause: answer.AppCrashSignal, says: "SIGXCPU", tale: func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: 152, Signal: 24, StatusKnown: true, OOMKnown: true})
		}},
		{name: "the kernel's own SIGKILL, and nobody saw a limit", cause: answer.CauseUnknown, ruledOut: []answer.Cause{answer.KilledByOther}, tale: func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: 137, Signal: 9, StatusKnown: true, OOMKnown: true, ByKernel: true})
		}},
		{name: "SIGUSR1 without a handler", cause: answer.KilledByOther, says: "SIGUSR1", tale: func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: 138, Signal: 10, StatusKnown: true, OOMKnown: true})
		}},
		{name: "SIGHUP that it took well", cause: answer.AppExitError, tale: func(s *tale) {
			b := term
			b.Signal = 1
			s.in("app", b)
			s.exit("app", fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true})
		}},
		{name: "a JVM was asked for its threads with SIGQUIT, and failed later", cause: answer.AppExitError, tale: func(s *tale) {
			b := term
			b.Signal = 3
			s.in("app", b)
			s.wait(10 * time.Second)
			s.exit("app", fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true})
		}},
		{name: "SIGQUIT that it ended on at once", cause: answer.KilledByOther, says: "on its SIGQUIT", tale: func(s *tale) {
			b := term
			b.Signal = 3
			s.in("app", b)
			s.exit("app", fact.Exited{ExitCode: 2, StatusKnown: true, OOMKnown: true})
		}},
		{name: "SIGINT that it ended on", cause: answer.KilledByOther, says: "on its SIGINT (exit code 0)", tale: func(s *tale) {
			b := term
			b.Signal = 2
			s.in("app", b)
			s.wait(5 * time.Second)
			s.exit("app", fact.Exited{StatusKnown: true, OOMKnown: true})
		}},
		{name: "nobody saw where the sender ran", cause: answer.KilledByOther, says: "gone before anybody could see", tale: func(s *tale) {
			s.in("app", from(term, "", 4711))
			s.exit("app", fact.Exited{ExitCode: 143, Signal: 15, StatusKnown: true, OOMKnown: true})
		}},
		{name: "137 was given to exit", cause: answer.AppExitError, ruledOut: []answer.Cause{answer.MemoryLimit}, tale: func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: 137, StatusKnown: true, OOMKnown: true})
		}},
		{name: "139 was given to exit", cause: answer.AppExitError, tale: func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: 139, StatusKnown: true, OOMKnown: true})
		}},
		{name: "a child crashed and the shell handed it on", cause: answer.AppCrashSignal, says: "A child process", tale: func(s *tale) {
			s.in("app", fact.ProcessEnded{PID: 117, Parent: 100, Command: "worker", Signal: 11, Lived: time.Minute})
			s.exit("app", fact.Exited{ExitCode: 139, StatusKnown: true, OOMKnown: true})
		}},
		{name: "nobody saw a child crash, and the shell says that it did", cause: answer.AppCrashSignal, says: "its shell says that it died of SIGABRT", tale: func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: 134, StatusKnown: true, OOMKnown: true, LastLines: []string{"starting", "/srv/run.sh: line 7:    12 Aborted                 (core dumped) /srv/web"}})
		}},
		{name: "a child crashed, and the shell went on until it failed", cause: answer.AppExitError, tale: func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true, LastLines: []string{"Aborted", "cannot go on"}})
		}},
		{name: "a child was killed by nobody knows whom", cause: answer.CauseUnknown, tale: func(s *tale) {
			s.in("app", fact.ProcessEnded{PID: 117, Parent: 100, Command: "worker", Signal: 9})
			s.exit("app", fact.Exited{ExitCode: 137, StatusKnown: true, OOMKnown: true})
		}},
		{name: "a child was killed from the node", cause: answer.KilledByOther, says: "handed on", tale: func(s *tale) {
			b := kill
			b.PID, b.Main = 117, false
			s.in("app", b)
			s.in("app", fact.ProcessEnded{PID: 117, Parent: 100, Command: "worker", Signal: 9})
			s.exit("app", fact.Exited{ExitCode: 137, StatusKnown: true, OOMKnown: true})
		}},
		{name: "timeout(1) killed its own child", cause: answer.AppExitError, tale: func(s *tale) {
			b := from(kill, fact.FromContainer, 110)
			b.PID, b.Main, b.SenderContainer = 117, false, "app"
			s.in("app", b)
			s.in("app", fact.ProcessEnded{PID: 117, Parent: 100, Command: "worker", Signal: 9})
			s.exit("app", fact.Exited{ExitCode: 137, StatusKnown: true, OOMKnown: true})
		}},
	} {
		q.symptom, q.pod = answer.Restarted, web(silentProbe)
		t.Run(q.name, q.run)
	}
}

// A listener that ended, by the kernel's word.
func TestListenerEnded(t *testing.T) {
	served := fact.Looked{PID: 100, State: "S", Processes: 2, Over: time.Second, Calm: true, Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 117, Command: "httpd"}}}
	left := fact.Looked{PID: 100, State: "S", Processes: 1, Over: time.Second}
	end := func(s *tale, bodies ...fact.Body) {
		s.probe("app", 3, good(fact.Liveness, time.Millisecond))
		for _, b := range bodies {
			s.in("app", b)
		}
		s.probe("app", 1, connectionRefused(fact.Liveness))
		s.in("app", left)
		s.probe("app", 2, connectionRefused(fact.Liveness))
	}
	ended := fact.ProcessEnded{PID: 117, Parent: 100, Command: "httpd", Lived: time.Minute}
	for _, q := range []question{
		{name: "the kernel told its end", cause: answer.ChildProcessEnded, says: "ended by itself with exit code 0 (httpd, pid 117)", tale: func(s *tale) { s.in("app", served); end(s, ended) }},
		{name: "and nobody had looked before", cause: answer.ChildProcessEnded, says: "httpd", tale: func(s *tale) { end(s, ended) }},
		{name: "it was killed from the node", cause: answer.KilledByOther, says: "oops (pid 9)", tale: func(s *tale) {
			s.in("app", served)
			killed := ended
			killed.Signal = 9
			end(s, fact.Signalled{Signal: 9, PID: 117, Origin: fact.FromHost, SenderPID: 9, SenderCommand: "oops"}, killed)
		}},
		{name: "another process ended, and the main one closed the port", cause: answer.AppNotListening, tale: func(s *tale) {
			mine := served
			mine.Listeners = slices.Clone(served.Listeners)
			mine.Listeners[0].PID = 100
			s.in("app", mine)
			end(s, fact.ProcessEnded{PID: 130, Command: "gzip"})
		}},
	} {
		q.symptom, q.pod = answer.Restarted, web()
		t.Run(q.name, q.run)
	}
}

// Late answers and none, told apart by a request that was made with patience.
func TestAskedAgain(t *testing.T) {
	calm := fact.Looked{PID: 100, State: "S", Processes: 1, Over: time.Second, Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 100, Command: "app"}}}
	again := func(took time.Duration, verdict fact.Verdict, ev fact.Evidence) fact.AskedAgain {
		return fact.AskedAgain{Probe: fact.Liveness, Patience: 30 * time.Second, Timeout: time.Second, Verdict: verdict, Took: took, Evidence: &ev}
	}
	fail := func(s *tale, bodies ...fact.Body) {
		id := s.in("app", noAnswer(fact.Liveness))
		s.wait(2 * time.Second)
		for _, b := range bodies {
			s.see("app", s.attempt("app"), b, id)
		}
		s.probe("app", 2, noAnswer(fact.Liveness))
	}
	late := again(4*time.Second, fact.Success, fact.Evidence{Status: 200})
	none := again(30*time.Second, fact.Failure, fact.Evidence{Timeout: true})
	worked := func(s *tale) { s.probe("app", 3, good(fact.Liveness, time.Millisecond)) }
	for _, q := range []question{
		{name: "it became slow", cause: answer.AppOverloaded, says: "now takes 4 s", tale: func(s *tale) { worked(s); fail(s, calm, late) }},
		{name: "it always was", cause: answer.ProbeTimeoutTooShort, says: "after 4 s", tale: func(s *tale) { fail(s, calm, late) }},
		{name: "late, and a failure", cause: answer.AppUnhealthy, says: "503", tale: func(s *tale) { worked(s); fail(s, again(4*time.Second, fact.Failure, fact.Evidence{Status: 503})) }},
		{name: "no answer at all", cause: answer.AppHang, says: "not even within 30 s", tale: func(s *tale) { worked(s); fail(s, calm, none) }},
		{name: "the container ended meanwhile: nothing is known", cause: answer.CauseUnknown, tale: func(s *tale) {
			cut := none
			cut.Cut = true
			worked(s)
			fail(s, calm, cut)
		}},
		{name: "late because of its CPU limit", cause: answer.CPUThrottled, tale: func(s *tale) {
			worked(s)
			s.in("app", fact.Sampled{Periods: 100, ThrottledPeriods: 10})
			fail(s, calm, late, fact.Sampled{Periods: 140, ThrottledPeriods: 49})
		}},
		{name: "none because it is stopped", cause: answer.ProcessStopped, tale: func(s *tale) {
			still := calm
			still.State = "T"
			worked(s)
			fail(s, still, none)
		}},
		{name: "none because its worker was OOM-killed", cause: answer.MemoryLimitChild, tale: func(s *tale) { worked(s); s.in("app", oomOfChild); fail(s, calm, none) }},
		{name: "none because others have all the CPUs: it could run, and does not", cause: answer.CauseUnknown, tale: func(s *tale) {
			starved := calm
			starved.State = "R"
			worked(s)
			fail(s, starved, none)
		}},
		{name: "none while its workers are at work, and its main process idles", cause: answer.AppOverloaded, tale: func(s *tale) {
			worked(s)
			id := s.in("app", noAnswer(fact.Liveness))
			s.in("app", fact.Sampled{CPUUsage: time.Second, CPUSome: time.Second})
			s.wait(2 * time.Second)
			s.in("app", calm)
			s.see("app", s.attempt("app"), none, id)
			s.in("app", fact.Sampled{CPUUsage: 3 * time.Second, CPUSome: 5 * time.Second})
			s.probe("app", 2, noAnswer(fact.Liveness))
		}},
		{name: "busy for longer than anybody waits", cause: answer.AppOverloaded, tale: func(s *tale) {
			busy := calm
			busy.CPUUsed = time.Second
			worked(s)
			fail(s, busy, none)
		}},
	} {
		q.symptom, q.pod = answer.Restarted, web()
		t.Run(q.name, q.run)
	}
	row := func(before, after int) func(*tale) {
		return func(s *tale) {
			s.probe("app", before, noAnswer(fact.Readiness))
			late := late
			late.Probe = fact.Readiness
			s.in("app", late)
			s.probe("app", after, noAnswer(fact.Readiness))
		}
	}
	for _, q := range []question{
		{name: "asked before the newest attempts of the row", cause: answer.ProbeTimeoutTooShort, says: "after 4 s", tale: row(3, 40)},
		{name: "asked long before", cause: answer.CauseUnknown, tale: row(3, 120)},
		{name: "asked in a row before, and answered in this one", cause: answer.AppOverloaded, says: "now takes 4 s", tale: func(s *tale) {
			s.probe("app", 6, good(fact.Readiness, time.Millisecond))
			id := s.in("app", noAnswer(fact.Readiness))
			s.wait(2 * time.Second)
			s.probe("app", 1, good(fact.Readiness, time.Millisecond))
			s.probe("app", 2, noAnswer(fact.Readiness))
			late := late
			late.Probe = fact.Readiness
			s.see("app", 0, late, id)
			s.probe("app", 1, noAnswer(fact.Readiness))
		}},
		{name: "asked in a row before", cause: answer.CauseUnknown, tale: func(s *tale) {
			row(3, 1)(s)
			s.probe("app", 1, good(fact.Readiness, time.Millisecond))
			s.probe("app", 4, noAnswer(fact.Readiness))
		}},
	} {
		q.symptom, q.pod = answer.NotReady, web(ready)
		t.Run(q.name, q.run)
	}
}

// Not up yet, or never to be.
func TestStarting(t *testing.T) {
	startup := func(c *v1.Container) { c.LivenessProbe, c.StartupProbe = nil, httpProbe(8080) }
	idle := fact.Looked{PID: 100, State: "S", Processes: 1, Over: 250 * time.Millisecond}
	with := func(change func(*fact.Looked)) fact.Looked { l := idle; change(&l); return l }
	fail := func(s *tale, kind fact.ProbeKind, look fact.Looked) {
		s.probe("app", 1, connectionRefused(kind))
		s.in("app", look)
		s.probe("app", 2, connectionRefused(kind))
	}
	for _, q := range []question{
		{name: "a startup probe, and nothing ever listened", pod: web(startup), cause: answer.AppNotListening, tale: func(s *tale) { fail(s, fact.Startup, idle) }},
		{name: "state R without CPU time is no work", pod: web(startup), cause: answer.AppNotListening, tale: func(s *tale) {
			fail(s, fact.Startup, with(func(l *fact.Looked) { l.State = "R" }))
		}},
		{name: "one tick in a short look is no work", pod: web(), cause: answer.AppNotListening, tale: func(s *tale) {
			fail(s, fact.Liveness, with(func(l *fact.Looked) { l.CPUUsed, l.Over = 10*time.Millisecond, 12*time.Millisecond }))
		}},
		{name: "at work since it began", pod: web(startup), cause: answer.AppSlowStart, tale: func(s *tale) {
			fail(s, fact.Startup, with(func(l *fact.Looked) { l.CPUTotal, l.Age = 3*time.Second, 5*time.Second }))
		}},
		{name: "the run before came up", pod: web(), cause: answer.AppSlowStart, tale: func(s *tale) {
			s.probe("app", 2, good(fact.Liveness, time.Millisecond))
			s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true})
			s.wait(time.Minute)
			fail(s, fact.Liveness, idle)
		}},
		{name: "on the wrong port, busy or not", pod: web(), cause: answer.ProbeWrongPort, tale: func(s *tale) {
			fail(s, fact.Liveness, with(func(l *fact.Looked) {
				l.CPUUsed = 240 * time.Millisecond
				l.Listeners = []fact.Listener{{Address: "0.0.0.0:9090", PID: 100}}
			}))
		}},
	} {
		q.symptom = answer.Restarted
		t.Run(q.name, q.run)
	}
}

// A server that serves one after the other lets connections wait, and does not hang: its
// late answer shows that. Without that answer the two look the same.
func TestOneAfterTheOther(t *testing.T) {
	s := tell(t, web())
	id := s.in("app", noAnswer(fact.Liveness))
	s.wait(2 * time.Second)
	queued := fact.Looked{PID: 100, State: "S", Processes: 1, Over: time.Second, Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 100, Command: "app", Backlog: 1}}}
	late := fact.AskedAgain{Probe: fact.Liveness, Patience: 30 * time.Second, Timeout: time.Second, Verdict: fact.Success, Took: 4 * time.Second, Evidence: &fact.Evidence{Status: 200}}
	for _, b := range []fact.Body{queued, late} {
		s.see("app", s.attempt("app"), b, id)
	}
	s.probe("app", 2, noAnswer(fact.Liveness))
	if v := s.ask().Verdicts[0]; v.Cause != answer.ProbeTimeoutTooShort {
		t.Errorf("%s: %s", v.Cause, v.Text)
	}
}

// One that the kernel ended at a limit of CPU time, and then ends in the same way unseen.
func TestCPUTimeAgain(t *testing.T) {
	s := tell(t, web(silentProbe))
	s.in("app", fact.Looked{PID: 100, MaxCPU: time.Second})
	s.exit("app", fact.Exited{ExitCode: 137, Signal: 9, StatusKnown: true, OOMKnown: true, ByKernel: true})
	s.wait(20 * time.Second)
	s.exit("app", fact.Exited{ExitCode: 137, Signal: 9, StatusKnown: true, OOMKnown: true})
	if a := s.ask(); a.Verdicts[0].Cause != answer.AppCrashSignal {
		t.Error(a.Text(answer.Style{Wide: true}))
	}
}

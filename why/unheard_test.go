package why

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// Pods as people tell of them, that no scenario was made for.
func TestUnheardOf(t *testing.T) {
	calm := fact.Looked{PID: 100, State: "S", Processes: 4, Over: 250 * time.Millisecond, Listeners: []fact.Listener{{Address: "[::]:8080", PID: 100, Command: "apache2"}}}
	look := func(change func(*fact.Looked)) fact.Looked {
		l := calm
		l.Listeners = append([]fact.Listener(nil), calm.Listeners...)
		change(&l)
		return l
	}
	worked := func(s *tale) { s.probe("app", 5, good(fact.Liveness, 2*time.Millisecond)) }
	readiness := func(c *v1.Container) { c.LivenessProbe, c.ReadinessProbe = nil, httpProbe(8080) }
	limited := func(cpu string) func(*v1.Container) {
		return func(c *v1.Container) {
			c.Resources.Limits = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
		}
	}
	small, half := limited("20m"), limited("500m")
	startup := func(c *v1.Container) { c.StartupProbe = httpProbe(8080) }
	for _, q := range []question{
		{name: "a JVM that ran out of its own heap exits 3, no kernel involved", pod: web(silentProbe), cause: answer.AppExitError, says: "OutOfMemoryError", tale: func(s *tale) {
			s.wait(time.Hour)
			s.exit("app", fact.Exited{ExitCode: 3, OOMKnown: true, StatusKnown: true, Message: "java.lang.OutOfMemoryError: Java heap space"})
		}},
		{name: "a JVM that may start no more threads", pod: web(silentProbe), cause: answer.ProcessLimit, tale: func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, Message: "java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory or process/resource limits reached"})
		}},
		{name: "an abort of an assertion", pod: web(silentProbe), cause: answer.AppCrashSignal, says: "SIGABRT", tale: func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: 134, Signal: 6, StatusKnown: true, OOMKnown: true})
		}},
		{name: "SIGBUS of a mapped file", pod: web(silentProbe), cause: answer.AppCrashSignal, tale: func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: 135, Signal: 7, StatusKnown: true, OOMKnown: true})
		}},
		{name: "seccomp killed it", pod: web(silentProbe), cause: answer.AppCrashSignal, says: "SIGSYS", tale: func(s *tale) {
			s.exit("app", fact.Exited{ExitCode: 159, Signal: 31, StatusKnown: true, OOMKnown: true})
		}},
		{name: "a database that lost its quorum answers 500 after hours", pod: web(), cause: answer.AppUnhealthy, says: "no quorum", tale: func(s *tale) {
			s.probe("app", 100, good(fact.Liveness, time.Millisecond))
			s.probe("app", 3, status(fact.Liveness, 500, "no quorum"))
		}},
		{name: "a worker pool that is exhausted: the queue fills", pod: web(), cause: answer.AppHang, tale: func(s *tale) {
			worked(s)
			s.probe("app", 1, noAnswer(fact.Liveness))
			s.in("app", look(func(l *fact.Looked) { l.Listeners[0].Backlog = 129 }))
			s.probe("app", 2, noAnswer(fact.Liveness))
		}},
		{name: "garbage collection: it is busy", pod: web(), cause: answer.AppOverloaded, tale: func(s *tale) {
			worked(s)
			s.probe("app", 1, noAnswer(fact.Liveness))
			s.in("app", look(func(l *fact.Looked) { l.CPUUsed = 240 * time.Millisecond }))
			s.probe("app", 2, noAnswer(fact.Liveness))
		}},
		{name: "an NFS server is away: state D", pod: web(), cause: answer.AppHang, says: "disk", tale: func(s *tale) {
			worked(s)
			s.probe("app", 1, noAnswer(fact.Liveness))
			s.in("app", look(func(l *fact.Looked) { l.State = "D" }))
			s.probe("app", 2, noAnswer(fact.Liveness))
		}},
		{name: "a debugger holds it", pod: web(), cause: answer.ProcessStopped, tale: func(s *tale) {
			worked(s)
			s.probe("app", 1, noAnswer(fact.Liveness))
			s.in("app", look(func(l *fact.Looked) { l.State = "t" }))
			s.probe("app", 2, noAnswer(fact.Liveness))
		}},
		{name: "a database migration at start", pod: web(startup), cause: answer.AppSlowStart, tale: func(s *tale) {
			s.probe("app", 1, connectionRefused(fact.Startup))
			s.in("app", look(func(l *fact.Looked) { l.Listeners, l.CPUUsed = nil, 230*time.Millisecond }))
			s.probe("app", 2, connectionRefused(fact.Startup))
		}},
		{name: "it waits for its database before it listens", pod: web(startup), cause: answer.AppNotListening, tale: func(s *tale) {
			s.probe("app", 1, connectionRefused(fact.Startup))
			s.in("app", fact.Sampled{CPUUsage: 40 * time.Millisecond})
			s.in("app", look(func(l *fact.Looked) { l.Listeners = nil }))
			s.probe("app", 1, connectionRefused(fact.Startup))
			s.in("app", fact.Sampled{CPUUsage: 41 * time.Millisecond})
			s.probe("app", 1, connectionRefused(fact.Startup))
		}},
		{name: "a neighbour takes the CPU in spells, and answers come late", pod: web(readiness), symptom: answer.NotReady, cause: answer.NodeCPUSaturated, tale: func(s *tale) {
			sample := func(used, waited time.Duration) {
				s.in("app", fact.Sampled{CPUUsage: used * time.Millisecond, CPUSome: waited * time.Millisecond})
			}
			sample(50, 98)
			s.probe("app", 10, good(fact.Readiness, 700*time.Millisecond))
			for i := range time.Duration(4) { // as seen: a second of waiting for an answer, and a second without
				sample(120+5*i, 2100+600*i)
				s.in("app", noAnswer(fact.Readiness))
				sample(124+5*i, 2640+600*i)
				s.wait(2 * time.Second)
			}
		}},
		{name: "its CPU limit keeps it from coming up", pod: web(small), cause: answer.CPUThrottled, says: "could not come up in time", tale: func(s *tale) {
			s.probe("app", 1, connectionRefused(fact.Liveness))
			s.in("app", fact.Sampled{CPUUsage: 40 * time.Millisecond, Periods: 10, ThrottledPeriods: 10, ThrottledTime: time.Second, CPUSome: time.Second})
			s.in("app", look(func(l *fact.Looked) { l.Listeners, l.CPUUsed = nil, 12*time.Millisecond }))
			s.probe("app", 1, connectionRefused(fact.Liveness))
			s.in("app", fact.Sampled{CPUUsage: 140 * time.Millisecond, Periods: 30, ThrottledPeriods: 30, ThrottledTime: 1900 * time.Millisecond, CPUSome: 2900 * time.Millisecond})
			s.probe("app", 1, connectionRefused(fact.Liveness))
		}},
		{name: "a limit that leaves it half a CPU: it is slow by itself", pod: web(half), cause: answer.AppSlowStart, says: "Its own CPU limit of 500m CPU allows no more", tale: func(s *tale) {
			s.probe("app", 1, connectionRefused(fact.Liveness))
			s.in("app", fact.Sampled{CPUUsage: 500 * time.Millisecond, Periods: 10, ThrottledPeriods: 10, ThrottledTime: 500 * time.Millisecond})
			s.in("app", look(func(l *fact.Looked) { l.Listeners, l.CPUUsed = nil, 125*time.Millisecond }))
			s.probe("app", 1, connectionRefused(fact.Liveness))
			s.in("app", fact.Sampled{CPUUsage: 1600 * time.Millisecond, Periods: 30, ThrottledPeriods: 30, ThrottledTime: 1500 * time.Millisecond})
			s.probe("app", 1, connectionRefused(fact.Liveness))
		}},
		{name: "it came up right after it was refused", pod: web(readiness), symptom: answer.NotReady, cause: answer.CauseUnknown, tale: func(s *tale) {
			s.in("app", connectionRefused(fact.Readiness))
			s.in("app", calm)
		}},
		{name: "it is refused though somebody was seen to listen", pod: web(readiness), symptom: answer.NotReady, cause: answer.NetworkBlocked, tale: func(s *tale) {
			s.probe("app", 1, connectionRefused(fact.Readiness))
			s.in("app", calm)
			s.probe("app", 2, connectionRefused(fact.Readiness))
		}},
		{name: "the port is another container's, which crashed", pod: with("side")(web()), cause: answer.SiblingNotReady, says: "another container of the pod listened", tale: func(s *tale) {
			s.in("app", look(func(l *fact.Looked) { l.Listeners[0].PID, l.Listeners[0].Other = 310, true }))
			worked(s)
			s.exit("side", fact.Exited{ExitCode: 3, OOMKnown: true, StatusKnown: true})
			s.probe("app", 1, connectionRefused(fact.Liveness))
			s.in("app", look(func(l *fact.Looked) { l.Listeners = nil }))
			s.probe("app", 2, connectionRefused(fact.Liveness))
		}},
		{name: "the kernel killed the probe's own command", pod: web(readiness), symptom: answer.NotReady, cause: answer.MemoryLimitChild, tale: func(s *tale) {
			for range 5 {
				s.in("app", command(fact.Readiness, 137))
				s.in("app", oomOfChild)
				s.wait(2 * time.Second)
			}
		}},
		{name: "each request that breaks off takes its worker's memory, and none was ever well", pod: web(readiness), symptom: answer.NotReady, cause: answer.MemoryLimitChild, tale: func(s *tale) {
			broke := attempt(fact.Readiness, fact.Evidence{Connect: time.Millisecond, Error: "read: connection reset by peer"})
			broke.Took = time.Second
			for range 2 {
				s.wait(2 * time.Second)
				s.in("app", oomOfChild)
				s.in("app", broke)
			}
		}},
		{name: "the victim of an OOM kill is known, and not whose limit it was: the container has none", pod: web(silentProbe), cause: answer.CauseUnknown, says: "container-memory-limit", tale: func(s *tale) {
			s.in("app", fact.OOMKilled{PID: 100, Command: "app", Main: true, AnonRSS: 48 << 20})
			s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
		}},
		{name: "its start script waits, idle: who was ended so early may have been about to listen", pod: web(), cause: answer.CauseUnknown, says: "app-slow-start", tale: func(s *tale) {
			idle := look(func(l *fact.Looked) { l.Listeners, l.Processes = nil, 2 })
			s.during = fact.ProcessEnded{PID: 100, Command: "sh", Main: true, Signal: 15}
			s.probe("app", 1, connectionRefused(fact.Liveness))
			s.in("app", fact.Sampled{CPUUsage: 40 * time.Millisecond})
			s.in("app", idle)
			s.probe("app", 1, connectionRefused(fact.Liveness))
			s.in("app", fact.Sampled{CPUUsage: 41 * time.Millisecond})
			s.probe("app", 1, connectionRefused(fact.Liveness))
		}},
		{name: "it moved to another port on a reload", pod: web(), cause: answer.AppListensElse, says: "9090", tale: func(s *tale) {
			s.in("app", calm)
			worked(s)
			s.probe("app", 1, connectionRefused(fact.Liveness))
			s.in("app", look(func(l *fact.Looked) { l.Listeners[0].Address = "[::]:9090" }))
			s.probe("app", 2, connectionRefused(fact.Liveness))
		}},
		{name: "it closed its port and kept another", pod: web(), cause: answer.AppNotListening, tale: func(s *tale) {
			admin := fact.Listener{Address: "[::]:9090", PID: 100}
			s.in("app", look(func(l *fact.Looked) { l.Listeners = append(l.Listeners, admin) }))
			worked(s)
			s.probe("app", 1, connectionRefused(fact.Liveness))
			s.in("app", look(func(l *fact.Looked) { l.Listeners = []fact.Listener{admin} }))
			s.probe("app", 2, connectionRefused(fact.Liveness))
		}},
		{name: "a development server on loopback", pod: web(), cause: answer.AppListensElse, says: "loopback", tale: func(s *tale) {
			s.probe("app", 1, connectionRefused(fact.Liveness))
			s.in("app", look(func(l *fact.Looked) { l.Listeners[0].Address = "[::1]:8080" }))
			s.probe("app", 2, connectionRefused(fact.Liveness))
		}},
		{name: "the metrics port in place of the application's", pod: web(), cause: answer.ProbeWrongPort, says: "9102", tale: func(s *tale) {
			s.probe("app", 1, connectionRefused(fact.Liveness))
			s.in("app", look(func(l *fact.Looked) { l.Listeners[0].Address = "0.0.0.0:9102" }))
			s.probe("app", 2, connectionRefused(fact.Liveness))
		}},
		{name: "authentication before the health page", pod: web(), cause: answer.ProbeWrongPath, says: "401", tale: func(s *tale) { s.probe("app", 3, status(fact.Liveness, 401, "")) }},
		{name: "405: HEAD only", pod: web(), cause: answer.ProbeWrongPath, tale: func(s *tale) { s.probe("app", 3, status(fact.Liveness, 405, "")) }},
		{name: "429: its own rate limit counts probes", pod: web(), cause: answer.AppUnhealthy, says: "429", tale: func(s *tale) { worked(s); s.probe("app", 3, status(fact.Liveness, 429, "slow down")) }},
		{name: "nginx for TLS, asked in plain HTTP", pod: web(), cause: answer.ProbeWrongScheme, tale: func(s *tale) {
			s.probe("app", 3, status(fact.Liveness, 400, "<center>The plain HTTP request was sent to HTTPS port</center>"))
		}},
		{name: "an exec probe whose tool is not in the image", pod: web(), cause: answer.ProbeCommandFailed, tale: func(s *tale) {
			n := 127
			s.probe("app", 3, attempt(fact.Liveness, fact.Evidence{Handler: fact.Exec, Target: "curl -f localhost", ExitCode: &n, Output: "sh: curl: not found"}))
		}},
		{name: "apache2: workers OOM-killed under load, then timeouts", pod: web(), cause: answer.MemoryLimitChild, tale: func(s *tale) {
			worked(s)
			for range 4 {
				s.in("app", oomOfChild)
			}
			s.probe("app", 1, noAnswer(fact.Liveness))
			s.in("app", calm)
			s.probe("app", 2, noAnswer(fact.Liveness))
		}},
		{name: "children are OOM-killed all the time, and the database is down", pod: web(), cause: answer.AppUnhealthy, says: "db down", tale: func(s *tale) {
			for range 5 {
				s.in("app", oomOfChild)
				s.probe("app", 10, good(fact.Liveness, time.Millisecond))
			}
			s.in("app", oomOfChild)
			s.probe("app", 3, status(fact.Liveness, 500, "db down"))
		}},
		{name: "a child was OOM-killed, it answered well and then not", pod: web(), cause: answer.CauseUnknown, says: "container-memory-limit-child", tale: func(s *tale) {
			worked(s)
			s.in("app", oomOfChild)
			s.probe("app", 3, good(fact.Liveness, time.Millisecond))
			s.probe("app", 3, status(fact.Liveness, 500, "db down"))
		}},
		{name: "a child was OOM-killed, and it answers 502 since", pod: web(), cause: answer.MemoryLimitChild, tale: func(s *tale) {
			worked(s)
			s.in("app", oomOfChild)
			s.probe("app", 3, status(fact.Liveness, 502, ""))
		}},
		{name: "a full volume makes the health page fail", pod: web(), cause: answer.DiskFull, tale: func(s *tale) {
			worked(s)
			s.probe("app", 3, status(fact.Liveness, 500, "write /var/lib/app/lock: no space left on device"))
		}},
		{name: "docker stop by an operator", pod: web(silentProbe), cause: answer.KilledByOther, says: "runtime", tale: func(s *tale) {
			s.in("app", fact.Signalled{Signal: 15, PID: 100, Main: true, Origin: fact.FromNode, SenderPID: 3})
			s.exit("app", fact.Exited{ExitCode: 143, Signal: 15, StatusKnown: true, OOMKnown: true})
		}},
		{name: "earlyoom on the node", pod: web(silentProbe), cause: answer.KilledByOther, says: "earlyoom", tale: func(s *tale) {
			s.in("app", fact.Signalled{Signal: 15, PID: 100, Main: true, Origin: fact.FromHost, SenderPID: 812, SenderCommand: "earlyoom"})
			s.exit("app", fact.Exited{ExitCode: 0, StatusKnown: true, OOMKnown: true})
		}},
		{name: "a supervisor whose only child failed", pod: web(silentProbe), cause: answer.AppExitError, says: "exit code 4", tale: func(s *tale) {
			s.in("app", fact.ProcessEnded{PID: 117, Parent: 100, Command: "worker", ExitCode: 4})
			s.exit("app", fact.Exited{ExitCode: 4, StatusKnown: true, OOMKnown: true})
		}},
		{name: "a readiness probe that is too slow for its timeout", pod: web(readiness), symptom: answer.NotReady, cause: answer.ProbeTimeoutTooShort, tale: func(s *tale) {
			s.probe("app", 6, good(fact.Readiness, 900*time.Millisecond))
			s.probe("app", 4, noAnswer(fact.Readiness))
		}},
		{name: "ready and then 503 while it drains", pod: web(readiness), symptom: answer.NotReady, cause: answer.AppUnhealthy, says: "draining", tale: func(s *tale) {
			s.probe("app", 5, good(fact.Readiness, time.Millisecond))
			s.probe("app", 4, status(fact.Readiness, 503, "draining"))
		}},
		{name: "a firewall of the node drops packets", pod: web(), cause: answer.NetworkBlocked, tale: func(s *tale) {
			worked(s)
			s.probe("app", 1, attempt(fact.Liveness, fact.Evidence{Timeout: true}))
			s.in("app", calm)
			s.probe("app", 2, attempt(fact.Liveness, fact.Evidence{Timeout: true}))
		}},
		{name: "a firewall drops the patient request as well", pod: web(readiness), symptom: answer.NotReady, cause: answer.NetworkBlocked, tale: func(s *tale) {
			s.probe("app", 5, good(fact.Readiness, time.Millisecond))
			id := s.in("app", attempt(fact.Readiness, fact.Evidence{Timeout: true}))
			s.in("app", calm)
			s.wait(2 * time.Second)
			s.probe("app", 2, attempt(fact.Readiness, fact.Evidence{Timeout: true}))
			s.see("app", 0, fact.AskedAgain{Probe: fact.Readiness, Patience: 10 * time.Second, Timeout: time.Second, Took: 10 * time.Second, Verdict: fact.Failure, Evidence: &fact.Evidence{Timeout: true}}, id)
		}},
		{name: "it resets connections", pod: web(), cause: answer.AppUnhealthy, tale: func(s *tale) {
			worked(s)
			s.probe("app", 3, attempt(fact.Liveness, fact.Evidence{Connect: time.Millisecond, Errno: "ECONNRESET"}))
		}},
		{name: "gRPC without the health service", pod: web(), cause: answer.ProbeProtocol, tale: func(s *tale) {
			b := attempt(fact.Liveness, fact.Evidence{Handler: fact.GRPC, Target: "10.0.0.1:8080", Connect: time.Millisecond})
			b.Message = "error: this server does not implement the grpc health protocol (grpc.health.v1.Health)"
			s.probe("app", 3, b)
		}},
		{name: "a gRPC service that nobody registered", pod: web(), cause: answer.ProbeWrongPath, tale: func(s *tale) {
			b := attempt(fact.Liveness, fact.Evidence{Handler: fact.GRPC, Target: "10.0.0.1:8080/webb", Connect: time.Millisecond})
			b.Message = "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service"
			s.probe("app", 3, b)
		}},
		{name: "a batch of work that was done, and is started again", pod: web(silentProbe), cause: answer.AppExitSuccess, says: "Always", tale: func(s *tale) {
			s.wait(time.Minute)
			s.exit("app", fact.Exited{OOMKnown: true, StatusKnown: true})
		}},
	} {
		if q.symptom == "" {
			q.symptom = answer.Restarted
		}
		t.Run(q.name, q.run)
	}
}

package why

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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

// withHook gives a container a postStart hook.
func withHook(c *v1.Container) {
	c.Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", "warm"}}}}
}

func at(cgroup string, o fact.OOMKilled) fact.OOMKilled { o.OOMCgroup = cgroup; return o }

func TestEnds(t *testing.T) {
	for _, q := range []question{
		{
			name: "oom of the main process", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.MemoryLimit, certainty: answer.Inferred,
			tale: func(s *tale) {
				s.in("app", oomOfMain)
				s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true, RuntimeReason: "OOMKilled"})
			},
		},
		{
			name: "many small processes", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.MemoryLimit, says: "24Mi, which at least 20 processes filled together, 19 of them sleep",
			tale: func(s *tale) {
				many := oomOfMain
				many.AnonRSS, many.Tasks = 1<<20, []fact.OOMTask{{PID: 100, Command: "sh", RSS: 1 << 20}}
				for pid := range 19 {
					many.Tasks = append(many.Tasks, fact.OOMTask{PID: 101 + pid, Command: "sleep", RSS: 1 << 20})
				}
				s.in("app", many)
				s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true, RuntimeReason: "OOMKilled"})
			},
		},
		{
			name: "137 after the grace period is not memory", pod: web(), symptom: answer.Restarted, cause: answer.AppUnhealthy, certainty: answer.Recorded,
			set:      func(s *tale) { s.code = 137 },
			tale:     func(s *tale) { s.probe("app", 3, command(fact.Liveness, 1)) },
			ruledOut: []answer.Cause{answer.MemoryLimit}, contributing: []answer.Cause{answer.AppIgnoredSIGTERM},
		},
		{
			name: "the preStop hook took all of the grace period", pod: web(), symptom: answer.Restarted, cause: answer.AppUnhealthy, certainty: answer.Recorded,
			set: func(s *tale) {
				s.code, s.during = 137, fact.HookRan{Hook: fact.PreStop, Took: 2 * time.Second, Error: "context deadline exceeded"}
			},
			tale:         func(s *tale) { s.probe("app", 3, command(fact.Liveness, 1)) },
			contributing: []answer.Cause{answer.HookFailed},
		},
		{
			name: "what its postStart hook runs is OOM-killed", pod: web(silentProbe, withHook), symptom: answer.Restarted, cause: answer.MemoryLimitChild, says: "postStart hook",
			tale: func(s *tale) {
				s.in("app", oomOfChild)
				s.in("app", fact.HookRan{Hook: fact.PostStart, Took: time.Second, Error: "command 'sh -c warm' exited with 137"})
			},
		},
		{
			name: "its postStart hook fails long after an OOM kill", pod: web(silentProbe, withHook), symptom: answer.Restarted, cause: answer.HookFailed,
			tale: func(s *tale) {
				s.in("app", oomOfChild)
				s.wait(20 * time.Second)
				s.in("app", fact.HookRan{Hook: fact.PostStart, Took: time.Second, Error: "command 'sh -c warm' exited with 1"})
			},
		},
		{
			name: "a shell hands on 137 of an oom-killed child", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.MemoryLimitChild,
			tale: func(s *tale) {
				s.in("app", oomOfChild)
				s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, RuntimeReason: "OOMKilled"})
			},
			says: "handed on",
		},
		{
			name: "files in memory", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.MemoryBackedVolume,
			tale: func(s *tale) {
				o := oomOfMain
				o.AnonRSS, o.Limit = 12<<20, 32<<20
				o.Tasks = []fact.OOMTask{{PID: 100, Command: "app", RSS: 12 << 20}, {PID: 117, Command: "dd", RSS: 1 << 20}}
				s.in("app", o)
				s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
			},
		},
		{
			name: "sticky: an old oom kill of a child", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppExitError,
			tale: func(s *tale) {
				s.in("app", oomOfChild)
				s.wait(time.Minute)
				s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, OOMKills: 1, RuntimeReason: "OOMKilled"})
			},
			ruledOut: []answer.Cause{answer.MemoryLimit},
		},
		{
			name: "a child's oom kill a little before an end with an error", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppExitError,
			tale: func(s *tale) {
				s.in("app", oomOfChild)
				s.wait(5 * time.Second)
				s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, OOMKills: 1, RuntimeReason: "OOMKilled"})
			},
			ruledOut: []answer.Cause{answer.MemoryLimit}, contributing: []answer.Cause{answer.MemoryLimitChild},
		},
		{
			name: "the limit of a LimitRange", pod: limitRanged(web(silentProbe)), symptom: answer.Restarted, cause: answer.MemoryLimit, says: "a LimitRange of the namespace sets it",
			tale: func(s *tale) {
				s.in("app", oomOfMain)
				s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
			},
		},
		{
			name: "a heap of its own was full", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppExitError, says: "The kernel killed nothing",
			tale: func(s *tale) {
				s.exit("app", fact.Exited{ExitCode: 3, StatusKnown: true, OOMKnown: true, LastLines: []string{"java.lang.OutOfMemoryError: Java heap space", "\tat Main.main"}})
			},
		},
		{
			name: "a heap was full, and it aborted", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppCrashSignal, says: "by SIGABRT because its program could get no more memory",
			tale: func(s *tale) {
				s.exit("app", fact.Exited{ExitCode: 134, Signal: 6, StatusKnown: true, OOMKnown: true, LastLines: []string{"FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"}})
			},
		},
		{
			name: "it says that memory is short, and was OOM-killed", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.MemoryLimit,
			tale: func(s *tale) {
				s.in("app", oomOfMain)
				s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true, LastLines: []string{"cannot allocate memory"}})
			},
		},
		{
			name: "new resources do not fit now", pod: web(silentProbe), symptom: answer.Healthy, cause: answer.InsufficientResources, certainty: answer.Recorded, says: "do not fit on the node now",
			tale: func(s *tale) {
				s.resized(fact.ResizeFailed{Reason: v1.PodReasonDeferred, Message: "Node didn't have enough resource: cpu"})
			},
		},
		{
			name: "it uses more than the new limit", pod: web(silentProbe), symptom: answer.Healthy, cause: answer.RuntimeFailed, says: "uses more memory (57Mi) than the new limit that its spec asks for (20Mi)",
			tale: func(s *tale) {
				s.resized(fact.ResizeFailed{Reason: v1.PodReasonError, Message: "unable to set memory limit to 20971520 (current usage: 60768256, peak usage: 60841984)"})
			},
		},
		{
			name: "it uses more than the new limit, says the node", pod: web(silentProbe), symptom: answer.Healthy, cause: answer.RuntimeFailed, says: "uses more memory (57Mi) than the new limit that its spec asks for (20Mi)",
			tale: func(s *tale) {
				s.resized(fact.ResizeFailed{Reason: v1.PodReasonError, Message: `cannot decrease memory limits: attempting to set container "app" memory limit (20971520) below current usage (60768256)`})
			},
		},
		{
			name: "it got its new resources", pod: web(silentProbe), symptom: answer.Healthy, cause: answer.None,
			tale: func(s *tale) { s.resized(fact.Resized{Resources: moreCPU()}) },
		},
		{
			name: "bystander: the runtime says OOMKilled, the counter is 0", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppExitError,
			tale: func(s *tale) {
				s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, RuntimeReason: "OOMKilled"})
			},
			ruledOut: []answer.Cause{answer.MemoryLimit},
		},
		{
			name: "137 and nobody looked", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.CauseUnknown, certainty: answer.Unknown,
			tale: func(s *tale) { s.exit("app", fact.Exited{ExitCode: 137, RuntimeReason: "OOMKilled"}) },
			says: "the kernel's own record of this end was not seen",
		},
		{
			name: "SIGKILL from elsewhere", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.KilledByOther,
			tale: func(s *tale) { s.exit("app", fact.Exited{ExitCode: 137, Signal: 9, OOMKnown: true}) },
		},
		{
			name: "143 may be its own", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.CauseUnknown,
			tale: func(s *tale) { s.exit("app", fact.Exited{ExitCode: 143, OOMKnown: true}) },
		},
		{
			name: "crash", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppCrashSignal, says: "SIGSEGV",
			tale: func(s *tale) { s.exit("app", fact.Exited{ExitCode: 139, OOMKnown: true}) },
		},
		{
			name: "the pod's limit", pod: podLimit(web(silentProbe)), symptom: answer.Restarted, cause: answer.PodMemoryLimit,
			tale: func(s *tale) {
				s.in("app", at("/kubepods/podu1", oomOfMain))
				s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
			},
		},
		{
			name: "the pod's limit is its only container's", pod: web(silentProbe, limitTo("24Mi")), symptom: answer.Restarted, cause: answer.MemoryLimit,
			says: "container app hit its memory limit of 24Mi",
			tale: func(s *tale) {
				s.in("app", at("/kubepods/podu1", oomOfMain))
				s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
			},
		},
		{
			name: "the sum of two containers' limits is no container's", pod: alsoLimited(web(silentProbe, limitTo("24Mi"))), symptom: answer.Restarted, cause: answer.PodMemoryLimit,
			says: "together hit the sum of their memory limits of 48Mi",
			tale: func(s *tale) {
				o := at("/kubepods/podu1", oomOfMain)
				o.Limit = 48 << 20
				s.in("app", o)
				s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
			},
		},
		{
			name: "the machine", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.NodeOutOfMemory,
			tale: func(s *tale) {
				o := oomOfMain
				o.Constraint = "CONSTRAINT_NONE"
				s.in("app", o)
				s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
			},
		},
		{
			name: "exit 0 where it should go on", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppExitSuccess,
			tale: func(s *tale) { s.exit("app", fact.Exited{OOMKnown: true}) },
		},
		{
			name: "shell without the command", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppStartFailed,
			tale: func(s *tale) { s.exit("app", fact.Exited{ExitCode: 127, OOMKnown: true}) },
		},
		{
			name: "no space", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.DiskFull,
			tale: func(s *tale) {
				s.exit("app", fact.Exited{ExitCode: 2, OOMKnown: true, Message: "write /data/x: no space left on device"})
			},
		},
		{
			name: "noise, then a crash", pod: web(), symptom: answer.Restarted, cause: answer.AppExitError, ruledOut: []answer.Cause{answer.AppUnhealthy},
			tale: func(s *tale) {
				for range 5 {
					s.probe("app", 1, status(fact.Liveness, 500, ""))
					s.probe("app", 2, good(fact.Liveness, time.Millisecond))
				}
				s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true})
			},
		},
		{
			name: "threshold, then exit 1", pod: web(), symptom: answer.Restarted, cause: answer.AppUnhealthy, certainty: answer.Recorded,
			set:  func(s *tale) { s.code = 1 },
			tale: func(s *tale) { s.probe("app", 3, command(fact.Liveness, 1)) },
		},
		{
			name: "done", pod: policy(v1.RestartPolicyOnFailure), symptom: answer.Completed, cause: answer.RestartPolicy,
			tale: func(s *tale) { s.exit("app", fact.Exited{OOMKnown: true}) },
		},
		{
			name: "ended by the node for its probe, and well: Never starts it again", pod: func() *v1.Pod { p := web(); p.Spec.RestartPolicy = v1.RestartPolicyNever; return p }(),
			symptom: answer.Completed, cause: answer.AppUnhealthy, certainty: answer.Recorded, contributing: []answer.Cause{answer.RestartPolicy},
			tale: func(s *tale) { s.probe("app", 3, command(fact.Liveness, 1)) },
		},
		{
			name: "a shell hands on a signal that nobody sends to others", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppCrashSignal, says: "SIGALRM",
			tale: func(s *tale) {
				s.in("app", fact.ProcessEnded{PID: 130, Command: "job", Signal: 14, ExitCode: 142})
				s.exit("app", fact.Exited{ExitCode: 142, StatusKnown: true, OOMKnown: true})
			},
		},
		{
			name: "where it happened comes after why", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppExitError, says: "the last that it said: panic: index out of range",
			tale: func(s *tale) {
				s.exit("app", fact.Exited{ExitCode: 2, StatusKnown: true, OOMKnown: true, LastLines: []string{"ready", "panic: index out of range", "", "goroutine 1 [running]:", "main.main()", "\t/src/main.go:8 +0x1d"}})
			},
		},
		{
			name: "what it gave up for comes before that it did", pod: web(silentProbe), symptom: answer.Restarted, cause: answer.AppExitError, says: "the last that it said: tail: can't open '/x': No such file or directory",
			tale: func(s *tale) {
				s.exit("app", fact.Exited{ExitCode: 1, StatusKnown: true, OOMKnown: true, LastLines: []string{"hello", "tail: can't open '/x': No such file or directory", "tail: no files"}})
			},
		},
		{
			name: "failed for good", pod: policy(v1.RestartPolicyNever), symptom: answer.Failed, cause: answer.AppExitError, contributing: []answer.Cause{answer.RestartPolicy},
			tale: func(s *tale) { s.exit("app", fact.Exited{ExitCode: 3, OOMKnown: true}) },
		},
	} {
		t.Run(q.name, q.run)
	}
}

func policy(p v1.RestartPolicy) *v1.Pod {
	pod := web(silentProbe)
	pod.Spec.RestartPolicy = p
	return pod
}

func TestProbes(t *testing.T) {
	calm := fact.Looked{PID: 100, State: "S", Processes: 1, Over: time.Second, Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 100, Command: "app"}}}
	look := func(change func(*fact.Looked)) fact.Looked {
		l := calm
		l.Listeners = slices.Clone(calm.Listeners)
		change(&l)
		return l
	}
	worked := func(s *tale) { s.probe("app", 3, good(fact.Liveness, time.Millisecond)) }
	// fail lets the probe fail until the container is ended, and looks meanwhile.
	fail := func(s *tale, b fact.Probed, bodies ...fact.Body) {
		s.probe("app", 1, b)
		for _, body := range bodies {
			s.in("app", body)
		}
		s.probe("app", 2, b)
	}
	sample := func(periods, throttled, pids int64) fact.Sampled {
		return fact.Sampled{Periods: periods, ThrottledPeriods: throttled, PIDs: pids}
	}
	for _, q := range []question{
		{name: "wrong port", cause: answer.ProbeWrongPort, tale: func(s *tale) {
			fail(s, connectionRefused(fact.Liveness), look(func(l *fact.Looked) { l.Listeners[0].Address = "0.0.0.0:9090" }))
		}},
		{name: "declared port, listens elsewhere", cause: answer.AppListensElse, pod: web(func(c *v1.Container) { c.Ports = []v1.ContainerPort{{ContainerPort: 8080}} }), tale: func(s *tale) {
			fail(s, connectionRefused(fact.Liveness), look(func(l *fact.Looked) { l.Listeners[0].Address = "0.0.0.0:9090" }))
		}},
		{name: "declared port, of which its log says why it is not served", cause: answer.AppNotListening, says: "password was incorrect", pod: web(func(c *v1.Container) { c.Ports = []v1.ContainerPort{{ContainerPort: 8080}} }), tale: func(s *tale) {
			fail(s, connectionRefused(fact.Liveness), look(func(l *fact.Looked) {
				l.Listeners[0].Address = "0.0.0.0:9090"
				l.Said = []string{`SEVERE [main] LifecycleBase.handleSubClassException Failed to initialize component [Connector["https-jsse-nio-8080"]]`, "\torg.apache.catalina.LifecycleException: Protocol handler initialization failed", "\tCaused by: java.io.IOException: keystore password was incorrect", "INFO [main] Server startup in [397] milliseconds"}
			}))
		}},
		{name: "declared port, and its log says of another at such a port", cause: answer.AppListensElse, pod: web(func(c *v1.Container) { c.Ports = []v1.ContainerPort{{ContainerPort: 8080}} }), tale: func(s *tale) {
			fail(s, connectionRefused(fact.Liveness), look(func(l *fact.Looked) {
				l.Listeners[0].Address = "0.0.0.0:9090"
				l.Said = []string{"ERROR dial tcp 10.43.0.9:8080: connect: connection refused"}
			}))
		}},
		{name: "it listens for a debugger alone", cause: answer.AppNotListening, says: "listens for a debugger alone", pod: web(func(c *v1.Container) { c.Ports = []v1.ContainerPort{{ContainerPort: 8080}} }), tale: func(s *tale) {
			fail(s, connectionRefused(fact.Liveness), look(func(l *fact.Looked) {
				l.Listeners[0].Address, l.Said = "127.0.0.1:9229", []string{"Debugger listening on ws://127.0.0.1:9229/a2ac8b24", "For help, see: https://nodejs.org/en/docs/inspector"}
			}))
		}},
		{name: "only loopback", cause: answer.AppListensElse, tale: func(s *tale) {
			fail(s, connectionRefused(fact.Liveness), look(func(l *fact.Looked) { l.Listeners[0].Address = "127.0.0.1:8080" }))
		}},
		{name: "the listener ended", cause: answer.ChildProcessEnded, tale: func(s *tale) {
			s.in("app", sample(0, 0, 2))
			worked(s)
			fail(s, connectionRefused(fact.Liveness), look(func(l *fact.Looked) { l.Listeners[0].Address = "0.0.0.0:9090" }), sample(0, 0, 1))
		}},
		{name: "it closed its port, and has as many processes as before", cause: answer.AppNotListening, says: "as many processes", tale: func(s *tale) {
			s.in("app", sample(0, 0, 2))
			worked(s)
			fail(s, connectionRefused(fact.Liveness), look(func(l *fact.Looked) { l.Listeners = nil }), sample(0, 0, 2))
		}},
		{name: "the main process closed its port", cause: answer.AppNotListening, tale: func(s *tale) {
			s.in("app", calm)
			worked(s)
			fail(s, connectionRefused(fact.Liveness), look(func(l *fact.Looked) { l.Listeners = nil }))
		}},
		{name: "nobody looked", cause: answer.CauseUnknown, says: "Nobody looked", tale: func(s *tale) { fail(s, connectionRefused(fact.Liveness)) }},
		{name: "still starting", cause: answer.AppSlowStart, tale: func(s *tale) {
			fail(s, connectionRefused(fact.Liveness), look(func(l *fact.Looked) { l.Listeners, l.CPUUsed = nil, 900*time.Millisecond }))
		}},
		{name: "still loading, by its log", cause: answer.AppSlowStart, says: "shard 4 of 40", tale: func(s *tale) {
			fail(s, connectionRefused(fact.Liveness), look(func(l *fact.Looked) {
				l.Listeners, l.Said = nil, []string{"loading weights: shard 3 of 40", "loading weights: shard 4 of 40"}
			}))
		}},
		{name: "still loading, by its log, and it listens already", cause: answer.AppSlowStart, says: "shard 4 of 40", tale: func(s *tale) {
			fail(s, noAnswer(fact.Liveness), look(func(l *fact.Looked) {
				l.Listeners[0].Backlog, l.Said = 8, []string{"loading weights: shard 3 of 40", "loading weights: shard 4 of 40"}
			}))
		}},
		{name: "a client finds its own server away, which does all that its CPU limit allows", pod: web(func(c *v1.Container) {
			c.Resources.Limits = v1.ResourceList{v1.ResourceCPU: resource.MustParse("500m")}
			c.LivenessProbe.ProbeHandler = v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"mariadb", "-e", "select 1"}}}
		}), cause: answer.AppSlowStart, says: "Its own CPU limit", tale: func(s *tale) {
			s.in("app", fact.Sampled{CPUUsage: 100 * time.Millisecond})
			b := command(fact.Liveness, 1)
			b.Evidence.Output = "ERROR 2002 (HY000): Can't connect to local server through socket '/tmp/mysqld.sock' (2)"
			fail(s, b, fact.Looked{PID: 100, State: "S", Processes: 2, Over: time.Second}, fact.Sampled{CPUUsage: 2200 * time.Millisecond})
		}},
		{name: "its workers are busy, and the main process idles", cause: answer.AppOverloaded, tale: func(s *tale) {
			worked(s)
			s.in("app", noAnswer(fact.Liveness))
			s.in("app", fact.Sampled{CPUUsage: time.Second})
			s.wait(2 * time.Second)
			s.in("app", fact.Sampled{CPUUsage: 2900 * time.Millisecond})
			s.in("app", look(func(l *fact.Looked) { l.Listeners[0].Backlog, l.Processes = 8, 2 }))
			s.probe("app", 2, noAnswer(fact.Liveness))
		}},
		{name: "it was loading, by its log, and has said no more for a minute", cause: answer.AppNotListening, tale: func(s *tale) {
			begun := s.now
			s.wait(time.Minute)
			fail(s, connectionRefused(fact.Liveness), look(func(l *fact.Looked) {
				l.Listeners, l.Said = nil, []string{"loading weights: shard 3 of 40", "loading weights: shard 4 of 40"}
				l.SaidAt = []time.Time{begun, begun}
			}))
		}},
		{name: "never listens, and a sidecar does, elsewhere", cause: answer.AppNotListening, tale: func(s *tale) {
			fail(s, connectionRefused(fact.Liveness), fact.Looked{PID: 100, State: "S", Processes: 1, Over: time.Second, Listeners: []fact.Listener{{Address: "[::]:15901", PID: 777, Other: true}}})
		}},
		{name: "never listens", cause: answer.AppNotListening, tale: func(s *tale) {
			fail(s, connectionRefused(fact.Liveness), look(func(l *fact.Looked) { l.Listeners = nil }))
		}},
		{name: "throttled", cause: answer.CPUThrottled, tale: func(s *tale) {
			worked(s)
			s.in("app", sample(100, 10, 5))
			fail(s, noAnswer(fact.Liveness), calm, sample(140, 49, 5))
		}},
		{name: "what serves was killed by exec into the container", cause: answer.KilledByOther, says: "put there by exec", tale: func(s *tale) {
			s.in("app", look(func(l *fact.Looked) { l.Listeners[0].PID, l.Listeners[0].Command = 117, "httpd" }))
			worked(s)
			by := fact.Signalled{Signal: 9, PID: 117, Origin: fact.FromContainer, SenderContainer: "app", SenderPID: 900, SenderCommand: "sh", SenderStray: true}
			s.in("app", by)
			s.in("app", fact.ProcessEnded{PID: 117, Command: "httpd", Signal: 9, ExitCode: 137})
			fail(s, connectionRefused(fact.Liveness), fact.Looked{PID: 100, State: "S", Over: time.Second})
		}},
		{name: "the probe asks another host", cause: answer.DependencyDown, pod: web(func(c *v1.Container) { c.LivenessProbe.HTTPGet.Host = "shop.example.com" }), tale: func(s *tale) {
			fail(s, connectionRefused(fact.Liveness), calm)
		}},
		{name: "the probe asks the node", cause: answer.ProbeWrongPort, says: "the node's own", pod: web(func(c *v1.Container) { c.LivenessProbe.HTTPGet.Host = "127.0.0.1" }), tale: func(s *tale) {
			fail(s, connectionRefused(fact.Liveness), calm)
		}},
		{name: "node busy", cause: answer.NodeCPUSaturated, tale: func(s *tale) {
			worked(s)
			s.in("app", fact.Sampled{MemoryCurrent: 1})
			fail(s, noAnswer(fact.Liveness), fact.Sampled{MemoryCurrent: 1, CPUSome: 4 * time.Second})
		}},
		{name: "hang", cause: answer.AppHang, tale: func(s *tale) {
			worked(s)
			fail(s, noAnswer(fact.Liveness), look(func(l *fact.Looked) { l.Listeners[0].Backlog = 3 }))
		}},
		{name: "slow or hung: not told apart", cause: answer.CauseUnknown, tale: func(s *tale) {
			worked(s)
			fail(s, noAnswer(fact.Liveness), calm)
		}},
		{name: "slow: handlers finish", cause: answer.AppOverloaded, tale: func(s *tale) {
			s.in("app", sample(0, 0, 1))
			worked(s)
			fail(s, noAnswer(fact.Liveness), calm, sample(0, 0, 4), sample(0, 0, 2))
		}},
		{name: "busy", cause: answer.AppOverloaded, tale: func(s *tale) {
			worked(s)
			fail(s, noAnswer(fact.Liveness), look(func(l *fact.Looked) { l.CPUUsed = time.Second }))
		}},
		{name: "busy since a moment, on a busy machine", cause: answer.AppOverloaded, says: "they waited", tale: func(s *tale) {
			worked(s)
			s.in("app", noAnswer(fact.Liveness))
			s.in("app", fact.Sampled{CPUUsage: time.Second, CPUSome: time.Second})
			s.in("app", look(func(l *fact.Looked) { l.CPUUsed, l.Over = 500*time.Millisecond, 9*time.Second }))
			s.wait(4 * time.Second)
			s.in("app", fact.Sampled{CPUUsage: 1800 * time.Millisecond, CPUSome: 2500 * time.Millisecond})
			s.probe("app", 2, noAnswer(fact.Liveness))
		}},
		{name: "good and late", cause: answer.ProbeTimeoutTooShort, tale: func(s *tale) {
			s.probe("app", 4, good(fact.Liveness, 900*time.Millisecond))
			fail(s, noAnswer(fact.Liveness), calm)
		}},
		{name: "stopped", cause: answer.ProcessStopped, tale: func(s *tale) {
			worked(s)
			fail(s, noAnswer(fact.Liveness), look(func(l *fact.Looked) { l.State = "T"; l.Listeners[0].Backlog = 2 }))
		}},
		{name: "workers oom-killed, then 503", cause: answer.MemoryLimitChild, tale: func(s *tale) {
			worked(s)
			s.in("app", oomOfChild)
			fail(s, status(fact.Liveness, 503, ""))
		}},
		{name: "503 of its own, long after an oom kill", cause: answer.AppUnhealthy, ruledOut: []answer.Cause{answer.MemoryLimit}, tale: func(s *tale) {
			worked(s)
			s.in("app", oomOfChild)
			s.probe("app", 30, good(fact.Liveness, time.Millisecond))
			fail(s, status(fact.Liveness, 503, ""))
		}},
		{name: "503", cause: answer.AppUnhealthy, certainty: answer.Recorded, tale: func(s *tale) { fail(s, status(fact.Liveness, 503, "no database")) }, says: "no database"},
		{name: "404 from the start", cause: answer.ProbeWrongPath, tale: func(s *tale) { fail(s, status(fact.Liveness, 404, "")) }},
		{name: "404, and its log has a context path", cause: answer.ProbeWrongPath, says: "the application is below /operate", tale: func(s *tale) {
			fail(s, status(fact.Liveness, 404, ""), look(func(l *fact.Looked) {
				l.Said = []string{"Tomcat started on port 8080 (http) with context path '/operate'"}
			}))
		}},
		{
			name: "404, and a variable has a context path", pod: web(func(c *v1.Container) { c.Env = []v1.EnvVar{{Name: "SERVER_SERVLET_CONTEXT_PATH", Value: "/operate"}} }), cause: answer.ProbeWrongPath,
			says: "Variable SERVER_SERVLET_CONTEXT_PATH", tale: func(s *tale) { fail(s, status(fact.Liveness, 404, "")) },
		},
		{name: "404 after it was well", cause: answer.AppUnhealthy, ruledOut: []answer.Cause{answer.ProbeWrongPath}, tale: func(s *tale) { worked(s); fail(s, status(fact.Liveness, 404, "")) }},
		{name: "https to http", cause: answer.ProbeWrongScheme, tale: func(s *tale) {
			fail(s, attempt(fact.Liveness, fact.Evidence{Error: "http: server gave HTTP response to HTTPS client", Connect: time.Millisecond}))
		}},
		{name: "http to https", cause: answer.ProbeWrongScheme, tale: func(s *tale) {
			fail(s, status(fact.Liveness, 400, "Client sent an HTTP request to an HTTPS server."))
		}},
		{name: "http to https of whom it asks, by a page that another server signs", cause: answer.AppUnhealthy, says: "asks in plain HTTP where TLS is wanted", tale: func(s *tale) {
			b := status(fact.Liveness, 400, "<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head><body><center>The plain HTTP request was sent to HTTPS port</center><hr><center>nginx/1.22.1</center></body></html>")
			b.Evidence.Header = map[string]string{"Server": "Caddy"}
			fail(s, b, calm)
		}},
		{name: "its own page", cause: answer.ProbeWrongScheme, says: "wants HTTPS there", tale: func(s *tale) {
			b := status(fact.Liveness, 400, "<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head><body><hr><center>nginx/1.22.1</center></body></html>")
			b.Evidence.Header = map[string]string{"Server": "nginx/1.22.1"}
			fail(s, b, fact.Looked{PID: 100, State: "S", Processes: 1, Over: time.Second, Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 100, Command: "nginx"}}})
		}},
		{name: "http to https, of a port that has answered plain HTTP", cause: answer.AppUnhealthy, says: "HTTPS server", tale: func(s *tale) {
			s.probe("app", 2, status(fact.Liveness, 502, ""))
			fail(s, status(fact.Liveness, 400, "Client sent an HTTP request to an HTTPS server."))
		}},
		{name: "h2c only", cause: answer.ProbeProtocol, tale: func(s *tale) {
			fail(s, attempt(fact.Liveness, fact.Evidence{Error: `malformed HTTP response "\x00\x00\x06\x04"`, Connect: time.Millisecond}))
		}},
		{name: "dropped", cause: answer.NetworkBlocked, tale: func(s *tale) {
			worked(s)
			b := attempt(fact.Liveness, fact.Evidence{Timeout: true})
			fail(s, b, calm)
		}},
		{
			name: "a proxy answered for an application that is away", cause: answer.AppNotListening, contributing: []answer.Cause{answer.MeshSidecarAnswered},
			pod: with("proxy")(web(func(c *v1.Container) { c.Ports = []v1.ContainerPort{{ContainerPort: 9090}} })),
			tale: func(s *tale) {
				fail(s, status(fact.Liveness, 503, ""), fact.Looked{PID: 100, State: "S", Listeners: []fact.Listener{{Address: "[::]:8080", PID: 777, Other: true}}})
			},
		},
		{name: "several pods at once", cause: answer.DependencyDown, tale: func(s *tale) {
			worked(s)
			s.neighbours(status(fact.Liveness, 500, "db down"), time.Hour, 2*time.Hour)
			fail(s, status(fact.Liveness, 500, "db down"))
		}},
		{name: "replicas of the same age: a fault of all, or of what they need", cause: answer.CauseUnknown, says: "dependency-down", tale: func(s *tale) {
			worked(s)
			s.neighbours(status(fact.Liveness, 500, "db down"), 6*time.Second, 6*time.Second)
			fail(s, status(fact.Liveness, 500, "db down"))
		}},
		{name: "one other pod: not told apart", cause: answer.CauseUnknown, tale: func(s *tale) {
			worked(s)
			s.neighbours(status(fact.Liveness, 500, "db down"), time.Hour)
			fail(s, status(fact.Liveness, 500, "db down"))
		}},
		{name: "another pod fails otherwise", cause: answer.AppUnhealthy, tale: func(s *tale) {
			worked(s)
			s.neighbours(status(fact.Liveness, 404, ""), time.Hour, 2*time.Hour)
			fail(s, status(fact.Liveness, 500, "db down"))
		}},
	} {
		q.symptom = answer.Restarted
		if q.pod == nil {
			q.pod = web()
		}
		t.Run(q.name, q.run)
	}
}

func TestStarts(t *testing.T) {
	failed := func(reason, message string) func(*tale) {
		return func(s *tale) { s.fails = fact.StartFailed{Reason: reason, Message: message} }
	}
	image := func(reason, message string) func(*tale) {
		return func(s *tale) { s.fails = fact.ImageFailed{Image: "app:1", Reason: reason, Message: message} }
	}
	for _, q := range []question{
		{name: "key", cause: answer.ConfigMissing, certainty: answer.Recorded, set: failed("CreateContainerConfigError", "couldn't find key nokey in ConfigMap shop/settings")},
		{name: "configmap", cause: answer.ConfigMissing, set: failed("CreateContainerConfigError", `configmap "none" not found`)},
		{name: "nonroot", cause: answer.SecurityRefused, set: failed("CreateContainerConfigError", "container has runAsNonRoot and image will run as root (pod: x, container: app)")},
		{name: "no command", cause: answer.AppStartFailed, set: failed("RunContainerError", `runc create failed: unable to start container process: exec: "/nosuch": stat /nosuch: no such file or directory`)},
		{name: "not executable", cause: answer.AppStartFailed, set: failed("RunContainerError", `runc create failed: unable to start container process: exec: "/etc/passwd": permission denied`)},
		{name: "architecture", cause: answer.AppStartFailed, set: failed("RunContainerError", `exec /app: exec format error`)},
		{name: "no memory to start in", cause: answer.MemoryLimit, set: failed("RunContainerError", "runc create failed: unable to start container process: container init was OOM-killed (memory limit too low?)")},
		{name: "its working directory is a file", cause: answer.AppStartFailed, set: failed("RunContainerError", `failed to create containerd task: OCI runtime create failed: runc create failed: unable to start container process: chdir to cwd ("/etc/passwd") set in config.json failed: not a directory`)},
		{name: "the runtime is away", cause: answer.RuntimeFailed, set: failed("CreateContainerError", `rpc error: code = Unavailable desc = connection error: dial unix /run/containerd.sock: connect: connection refused`)},
		{name: "something else", cause: answer.CauseUnknown, set: failed("CreateContainerError", "quux")},
		{name: "never", cause: answer.ImagePolicyNever, set: image("ErrImageNeverPull", "not present")},
		{name: "not found", cause: answer.ImageNotFound, set: image("ErrImagePull", "failed to resolve reference: app:1: not found")},
		{name: "unauthorized", cause: answer.ImageUnauthorized, set: image("ErrImagePull", "pull access denied, repository does not exist or may require authorization: authorization failed")},
		{name: "unreachable", cause: answer.ImageRegistryUnreachable, set: image("ErrImagePull", "dial tcp: lookup r on 10.0.0.1:53: no such host")},
	} {
		q.symptom, q.pod = answer.NotStarting, web()
		t.Run(q.name, q.run)
	}
}

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

func limitRanged(p *v1.Pod) *v1.Pod {
	p.Annotations = map[string]string{"kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container app; cpu, memory limit for container app"}
	return p
}

func moreCPU() v1.ResourceRequirements {
	return v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("3")}}
}

// resized asks for new resources of a running pod, and has the node say that.
func (s *tale) resized(answer fact.Body) {
	s.in("app", fact.Looked{PID: 100, Calm: true})
	changed := s.pod.DeepCopy()
	changed.Generation++
	changed.Spec.Containers[0].Resources = moreCPU()
	s.see("", 0, fact.SpecSeen{Object: changed, Source: "api"})
	s.in("app", answer)
}

// limitTo gives a container a memory limit.
func limitTo(memory string) func(*v1.Container) {
	return func(c *v1.Container) {
		c.Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse(memory)}
	}
}

// alsoLimited adds a container with the resources of the first.
func alsoLimited(p *v1.Pod) *v1.Pod {
	p = with("other")(p)
	p.Spec.Containers[1].Resources = p.Spec.Containers[0].Resources
	return p
}

package health

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// anEnd is a way in which a container can come to its end, with what must follow.
type anEnd struct {
	name string
	// prepare changes the container or the world before the pod starts.
	prepare func(w *world, c *v1.Container)
	// happen lets it happen to the running container "app".
	happen func(w *world)
	// code and reason are what the API must say of it; message has to be part of
	// what it says.
	code    int32
	reason  string
	message string
	// onFailure says whether it is started again under OnFailure. Under Always
	// everything is, under Never nothing.
	onFailure bool
	// byNode is set when the node ends it in order to start it again: the back-off
	// then counts from the end before (see backOff.since).
	byNode bool
	// slow is set when its end takes longer than the back-off.
	slow bool
	// survives is set when it is no end at all.
	survives bool
}

func failing(kind fact.ProbeKind) func(*world, *v1.Container) {
	return func(_ *world, c *v1.Container) {
		if kind == fact.Startup {
			c.StartupProbe = probeSpec(3)
		} else {
			c.LivenessProbe = probeSpec(3)
		}
	}
}

func threeFailures(kind fact.ProbeKind, b behaviour) func(*world) {
	return func(w *world) {
		w.behave["app"] = b
		for range 3 {
			w.probe("app", kind, fact.Failure, "HTTP probe failed with statuscode: 503")
		}
	}
}

func exits(code int32, change ...func(*fact.Exited)) func(*world) {
	return func(w *world) { w.exit("app", code, change...) }
}

const livenessText = "Ended by the node: liveness probe failed 3 times in a row (HTTP probe failed with statuscode: 503)"

var ends = []anEnd{
	{name: "exit 0", happen: exits(0), code: 0, reason: "Completed"},
	{name: "exit 1", happen: exits(1), code: 1, reason: "Error", onFailure: true},
	{
		name: "SIGSEGV", happen: exits(139, func(e *fact.Exited) { e.Signal = 11 }),
		code: 139, reason: "Error", onFailure: true, message: "ended by signal 11",
	},
	{
		name: "liveness kill, exit 0", prepare: failing(fact.Liveness), happen: threeFailures(fact.Liveness, behaviour{code: 0}),
		code: 0, reason: "Completed", onFailure: true, byNode: true, message: livenessText + "; the process then exited with code 0.",
	},
	{
		name: "liveness kill, exit 143", prepare: failing(fact.Liveness), happen: threeFailures(fact.Liveness, behaviour{code: 143}),
		code: 143, reason: "Error", onFailure: true, byNode: true, message: livenessText + "; the process then exited with code 143.",
	},
	{
		name: "liveness kill, exit 137", prepare: failing(fact.Liveness),
		happen: func(w *world) {
			threeFailures(fact.Liveness, behaviour{ignores: true})(w)
			w.advance(30 * time.Second)
		},
		code: 137, reason: "Error", onFailure: true, byNode: true, slow: true, message: livenessText + "; the process was still there after its grace period of 30 s",
	},
	{
		name: "startup kill", prepare: failing(fact.Startup), happen: threeFailures(fact.Startup, behaviour{code: 143}),
		code: 143, reason: "Error", onFailure: true, byNode: true, message: "Ended by the node: startup probe failed 3 times in a row",
	},
	{
		name: "OOM of main",
		happen: func(w *world) {
			w.oom("app", fact.OOMKilled{PID: 101, Command: "hog", Main: true, Limit: 32 << 20, OOMCgroup: ownCgroup})
			w.exit("app", 137, func(e *fact.Exited) {
				e.OOMKnown, e.OOMKills, e.MainOOMKilled, e.RuntimeReason = true, 1, true, "OOMKilled"
			})
		},
		code: 137, reason: "OOMKilled", onFailure: true, message: "The main process (pid 101, hog) was OOM-killed at its 32Mi limit.",
	},
	{
		name: "OOM of child, survived",
		happen: func(w *world) {
			w.oom("app", fact.OOMKilled{PID: 519, Command: "httpd", Limit: 32 << 20, OOMCgroup: ownCgroup})
		},
		survives: true,
	},
	{
		name: "OOM of child, then liveness kill", prepare: failing(fact.Liveness),
		happen: func(w *world) {
			w.oom("app", fact.OOMKilled{PID: 519, Command: "httpd", Limit: 32 << 20, OOMCgroup: ownCgroup})
			w.advance(12 * time.Second)
			w.behave["app"] = behaviour{code: 0, takes: time.Hour}
			for range 3 {
				w.probe("app", fact.Liveness, fact.Failure, "HTTP probe failed with statuscode: 503")
			}
			w.exit("app", 0, func(e *fact.Exited) { e.OOMKnown, e.OOMKills, e.RuntimeReason = true, 1, "OOMKilled" })
		},
		code: 0, reason: "Completed", onFailure: true, byNode: true,
		message: "the process then exited with code 0. A child process (pid 519, httpd) had been OOM-killed at its 32Mi limit 12 s before.",
	},
	{
		name:   "external SIGKILL",
		happen: exits(137, func(e *fact.Exited) { e.Signal, e.OOMKnown, e.RuntimeReason = 9, true, "Error" }),
		code:   137, reason: "Error", onFailure: true, message: "ended by signal 9 (SIGKILL).",
	},
	{
		name: "hook failure",
		prepare: func(w *world, c *v1.Container) {
			c.Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{}}
		},
		// The hook fails when happen is called: it is fed by hand.
		happen: func(w *world) {
			w.feed("app", w.runs["app"].attempt, fact.HookRan{Hook: fact.PostStart, Error: "command 'false' exited with 1"})
			w.settle()
		},
		code: 143, reason: "Error", onFailure: true, message: "Ended by the node: its postStart hook failed (command 'false' exited with 1)",
	},
}

// aTime is when the end comes, with the wait that must follow before the next start.
type aTime struct {
	name string
	// crashes come before it, runs is how long the container then ran.
	crashes int
	runs    time.Duration
	// wait is what follows an end of its own, byNode what follows one that the node
	// brought about to start it again.
	wait, byNode time.Duration
}

// Two crashes leave a back-off of 20 s behind.
var times = []aTime{
	{name: "first time", runs: time.Second},
	{name: "back-off due", crashes: 2, runs: time.Second, wait: 20 * time.Second, byNode: 20 * time.Second},
	{name: "back-off expired", crashes: 2, runs: 2 * time.Minute, wait: 20 * time.Second},
	{name: "after 10 min", crashes: 2, runs: 11 * time.Minute},
}

// TestMatrix goes through every way to end, under every restart policy, at every
// time that makes a difference.
func TestMatrix(t *testing.T) {
	for _, policy := range []v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever} {
		for _, end := range ends {
			for _, at := range times {
				if policy == v1.RestartPolicyNever && at.crashes > 0 {
					at.crashes, at.wait, at.byNode = 0, 0, 0 // it has one life only
				}
				t.Run(fmt.Sprintf("%s/%s/%s", policy, end.name, at.name), func(t *testing.T) {
					cell(t, policy, end, at)
				})
			}
		}
	}
}

func cell(t *testing.T, policy v1.RestartPolicy, end anEnd, at aTime) {
	w := newWorld(t, Policy{})
	c := v1.Container{Name: "app"}
	if end.prepare != nil {
		end.prepare(w, &c)
	}
	w.hookTakes = 24 * time.Hour
	w.meet(podOf(policy, c))
	for range at.crashes {
		w.advance(time.Second)
		w.exit("app", 1)
		w.advance(11 * time.Second)
	}
	w.advance(at.runs - 10*time.Second*time.Duration(min(1, at.crashes)))
	before := w.container("app")
	end.happen(w)
	if end.survives {
		if after := w.container("app"); after.RestartCount != before.RestartCount || after.State.Running == nil || !after.Ready {
			t.Fatalf("it should go on running: %+v", after)
		}
		return
	}
	expectEnd(t, w, end)
	restarts := policy == v1.RestartPolicyAlways || policy == v1.RestartPolicyOnFailure && end.onFailure
	if !restarts {
		expectNoRestart(t, w, end, before.RestartCount)
		return
	}
	wait := at.wait
	switch {
	case end.slow:
		wait = 0
	case end.byNode:
		wait = at.byNode
	}
	expectRestart(t, w, wait, before.RestartCount)
}

// lastEnd is the newest end that the status knows.
func lastEnd(s v1.ContainerStatus) *v1.ContainerStateTerminated {
	if s.State.Terminated != nil {
		return s.State.Terminated
	}
	return s.LastTerminationState.Terminated
}

func expectEnd(t *testing.T, w *world, end anEnd) {
	t.Helper()
	got := lastEnd(w.container("app"))
	if got == nil || got.ExitCode != end.code || got.Reason != end.reason || !strings.Contains(got.Message, end.message) || (end.message == "") != (got.Message == "") {
		t.Errorf("the end is told as %+v\nand should be %d %s %q", got, end.code, end.reason, end.message)
	}
}

func expectNoRestart(t *testing.T, w *world, end anEnd, count int32) {
	t.Helper()
	w.advance(20 * time.Minute)
	want := v1.PodFailed
	if end.code == 0 {
		want = v1.PodSucceeded
	}
	s := Status(w.state)
	if s.Phase != want || s.ContainerStatuses[0].RestartCount != count || s.ContainerStatuses[0].State.Terminated == nil {
		t.Errorf("the pod should be %s with %d restarts: %s", want, count, mustJSON(s))
	}
}

func expectRestart(t *testing.T, w *world, wait time.Duration, count int32) {
	t.Helper()
	if wait > 0 {
		w.advance(wait - time.Second)
		s := w.container("app")
		if s.RestartCount != count || s.State.Waiting == nil || s.State.Waiting.Reason != "CrashLoopBackOff" ||
			s.State.Waiting.Message != fmt.Sprintf("back-off %s restarting failed container=app pod=web_default(uid-1)", wait) {
			t.Fatalf("it should wait for %s: %+v", wait, s)
		}
		w.advance(time.Second)
	}
	if p := w.runs["app"]; p == nil || p.attempt != count+1 {
		t.Errorf("it should have been started again after %s: %s", wait, mustJSON(Status(w.state)))
	}
	if s := Status(w.state); s.Phase != v1.PodRunning && s.Phase != v1.PodPending {
		t.Errorf("phase %s", s.Phase)
	}
}

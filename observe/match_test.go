package observe

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/kubelet"
	"whylet.dev/whylet/observe/reported"
	"whylet.dev/whylet/observe/tap"
	"whylet.dev/whylet/pods"
)

// anAgent has a loop that knows pod web, whose container app runs, and nothing else.
func anAgent() (*Agent, *kept) {
	l, k := aLoop()
	a := &Agent{o: Options{Log: slog.New(slog.DiscardHandler)}, loop: l}
	a.words, a.attempts, a.counts, a.trouble = newWords(a), newAttempts(a), &counts{agent: a}, newTroublesOf()
	l.take(spec())
	l.take(start(0, 0, "a"))
	return a, k
}

// An event is about the run that went on when it was posted, not about the one that
// goes on when it is read.
func TestEventsFindTheirRun(t *testing.T) {
	a, _ := anAgent()
	a.loop.take(end(0, 10, "a", 137))
	a.loop.take(start(1, 11, "b"))
	pod, _ := a.loop.pods.Get("u")
	killing := reported.Event{UID: "u", Container: "app", Component: "kubelet", Reason: "Killing", Message: "Container app failed liveness probe, will be restarted", New: 1, First: at(8), Last: at(8)}
	all := a.told(pod, killing)
	if len(all) != 1 || all[0].Attempt != 0 || !all[0].At.Equal(at(8)) {
		t.Errorf("%+v", all)
	}
	unhealthy := reported.Event{UID: "u", Container: "app", Reason: "Unhealthy", Message: "Liveness probe failed: no", New: 3, First: at(12), Last: at(16)}
	all = a.told(pod, unhealthy)
	if len(all) != 1 || all[0].Attempt != 1 {
		t.Fatalf("%+v", all)
	}
	if b, ok := all[0].Body.(fact.Probed); !ok || b.Count != 3 || b.By != fact.BySay || b.Evidence.Handler != fact.Exec {
		t.Errorf("%+v", all[0].Body)
	}
	if calm := a.told(pod, reported.Event{Reason: "Pulled", Last: at(1)}); calm != nil {
		t.Errorf("%+v", calm)
	}
	a.before = at(20)
	if again := a.told(pod, killing); again != nil {
		t.Errorf("an earlier agent told of it: %+v", again)
	}
}

// kubelet does not say how a probe's command ended; the runtime does. Where commands
// ended differently, others were run in the container as well.
func TestHowCommandsEnded(t *testing.T) {
	a, _ := anAgent()
	pod, _ := a.loop.pods.Get("u")
	failed := func(from, to float64) *int {
		all := a.told(pod, reported.Event{UID: "u", Container: "app", Reason: "Unhealthy", Message: "Liveness probe failed: no", New: 2, First: at(from), Last: at(to)})
		return all[0].Body.(fact.Probed).Evidence.ExitCode
	}
	for i, code := range []int32{0, 137, 0, 137} {
		a.execs.ended("containerd://a", code, at(float64(10+2*i)))
	}
	if code := failed(10, 16); code == nil || *code != 137 {
		t.Errorf("%v", code)
	}
	a.execs.ended("containerd://a", 1, at(13))
	if code := failed(10, 16); code != nil {
		t.Errorf("%d", *code)
	}
	if code := failed(30, 31); code != nil {
		t.Errorf("%d, and none ended then", *code)
	}
}

// Counters belong to the run that ended where one did. What they counted before the
// first reading, or before kubelet began anew, is new to nobody.
func TestCountsAreToldOfWhatFailed(t *testing.T) {
	a, _ := anAgent()
	c := a.counts
	of := kubelet.ProbeOf{UID: "u", Container: "app", Kind: fact.Liveness}
	read := func(seconds float64, n kubelet.Count, ends ...fact.Fact) (fact.Counted, int32, bool) {
		all := c.tell(map[kubelet.ProbeOf]kubelet.Count{of: n, {UID: "stranger"}: {Failures: 9}}, ends, at(seconds))
		if len(all) == 0 {
			return fact.Counted{}, 0, false
		}
		return all[0].Body.(fact.Counted), all[0].Attempt, true
	}
	if b, _, ok := read(10, kubelet.Count{Successes: 5, Failures: 2}); !ok || b.NewFailures != 0 || b.Failures != 2 || !b.From.IsZero() {
		t.Errorf("first: %+v, %v", b, ok)
	}
	if b, _, ok := read(40, kubelet.Count{Successes: 20, Failures: 2}); ok {
		t.Errorf("nothing failed: %+v", b)
	}
	a.loop.take(end(0, 45, "a", 137))
	a.loop.take(start(1, 46, "b"))
	if b, run, ok := read(46, kubelet.Count{Successes: 20, Failures: 4}, end(0, 45, "a", 137)); !ok || run != 0 || b.NewFailures != 2 || !b.From.Equal(at(40)) {
		t.Errorf("at an end: run %d, %+v, %v", run, b, ok)
	}
	if b, run, ok := read(76, kubelet.Count{Successes: 21, Failures: 5}); !ok || run != 1 || b.NewFailures != 1 || b.NewSuccesses != 1 {
		t.Errorf("after it: run %d, %+v, %v", run, b, ok)
	}
	if b, _, ok := read(90, kubelet.Count{Failures: 1}); !ok || b.NewFailures != 0 || !b.From.IsZero() {
		t.Errorf("kubelet began anew: %+v, %v", b, ok)
	}
}

// Of two probes that ask the same the one that is longer overdue was made.
func TestWhoseAttempt(t *testing.T) {
	a, _ := anAgent()
	far := netip.MustParseAddrPort("10.0.0.5:8080")
	probe := func(period int32) *v1.Probe {
		return &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "health", Port: intstr.FromInt32(8080)}}, PeriodSeconds: period}
	}
	live := probed{probeKey{"u", "app", 0, fact.Liveness}, web, probe(10)}
	ready := probed{probeKey{"u", "app", 0, fact.Readiness}, web, probe(2)}
	a.attempts.aims = map[netip.AddrPort][]probed{far: {live, ready}}
	a.attempts.last = map[probeKey]time.Time{live.probeKey: at(0), ready.probeKey: at(8)}
	seen := tap.Attempt{Far: far, Sent: 1, Path: "/health"}
	if p, ok := a.attempts.whose(seen, at(9.9)); !ok || p.kind != fact.Liveness {
		t.Errorf("%+v, %v", p.probeKey, ok)
	}
	a.attempts.last[live.probeKey] = at(5)
	if p, ok := a.attempts.whose(seen, at(10)); !ok || p.kind != fact.Readiness {
		t.Errorf("%+v, %v", p.probeKey, ok)
	}
	seen.Path = "/other"
	if p, ok := a.attempts.whose(seen, at(10)); ok {
		t.Errorf("nobody asks that, but %+v", p.probeKey)
	}
}

// What an answer says is kept of the pod's own, and without what looks like a secret.
func TestBodiesOfAnswers(t *testing.T) {
	own := &v1.HTTPGetAction{Path: "/health", Port: intstr.FromInt32(8080)}
	seen := tap.Attempt{Far: netip.MustParseAddrPort("10.0.0.5:8080"), Connect: 1, Sent: 2, First: 3, Status: 503, Path: "/health", Body: []byte("queue is full, password=hunter2")}
	of := probed{probeKey{"u", "app", 0, fact.Readiness}, web, &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: own}}}
	if b, ok := bodyOf(seen, of); !ok || b.Evidence.Output != "queue is full, password=[redacted]" {
		t.Errorf("%+v", b.Evidence)
	}
	own.Host = "10.9.9.9"
	if b, ok := bodyOf(seen, of); !ok || b.Evidence.Output != "" {
		t.Errorf("%+v", b.Evidence)
	}
}

// An answer of HTTP/1 is none for a client of gRPC.
func TestHTTPAnswersGRPC(t *testing.T) {
	of := probed{probeKey{"u", "app", 0, fact.Readiness}, web, &v1.Probe{ProbeHandler: v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 8080}}}}
	seen := tap.Attempt{Far: netip.MustParseAddrPort("10.0.0.5:8080"), Connect: 1, Sent: 2, First: 3, HTTP2: true, Health: -1, Status: 400, Proto: "HTTP/1.1"}
	if b, ok := bodyOf(seen, of); !ok || !b.Evidence.Timeout || b.Evidence.Connect == 0 || b.Evidence.Status != 0 {
		t.Errorf("%v, %+v", ok, b)
	}
}

// What the tap sees and cannot read, kubelet's own words tell.
func TestWhatTheTapCannotRead(t *testing.T) {
	a, _ := anAgent()
	far := netip.MustParseAddrPort("10.0.0.5:8080")
	probe := &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080)}}, PeriodSeconds: 1, TimeoutSeconds: 1}
	a.attempts.aims = map[netip.AddrPort][]probed{far: {{probeKey{"u", "app", 0, fact.Readiness}, web, probe}}}
	a.attempts.on = true
	go func() { // the loop
		for range a.loop.facts {
		}
	}()
	a.attempts.tell(tap.Attempt{Far: far, Refused: true, Began: tap.Now()})
	if !a.attempts.tells("u", "app", fact.Readiness) {
		t.Error("it was refused, which is told")
	}
	a.attempts.tell(tap.Attempt{Far: far, Connect: 1, Sent: 2, First: 3, Status: 302, Path: "/", Began: tap.Now()})
	if a.attempts.tells("u", "app", fact.Readiness) {
		t.Error("it was sent on, and what came there is not told")
	}
}

// A gRPC call that is refused is told as kubelet tells it.
func TestCallsThatAreRefused(t *testing.T) {
	probe := &v1.Probe{ProbeHandler: v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 8080}}}
	of := probed{probeKey{"u", "app", 0, fact.Readiness}, web, probe}
	seen := tap.Attempt{Far: netip.MustParseAddrPort("10.0.0.5:8080"), Connect: 1, Sent: 2, First: 3, HTTP2: true, Health: -1}
	for code, want := range map[int]string{
		0:  "",
		4:  "",
		5:  "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service",
		12: "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown service",
	} {
		seen.Code, seen.Said = code, "unknown service"
		if b, ok := bodyOf(seen, of); ok != (want != "") || ok && (b.Message != want || b.Verdict != fact.Failure) {
			t.Errorf("%d: %v, %+v", code, ok, b)
		}
	}
}

func TestAimsAreWhatRunsAndIsProbed(t *testing.T) {
	pod := pods.Pod{Key: web, Object: theSpec(), Containers: map[string]pods.Container{"app": {Running: true}}}
	pod.Object.Spec.Containers[0].Ports = []v1.ContainerPort{{Name: "http", ContainerPort: 8080}}
	pod.Object.Spec.Containers[0].ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromString("http")}}}
	pod.Status.PodIP = "10.0.0.5"
	all := aimsOf([]pods.Pod{pod})
	if len(all) != 1 || len(all[netip.MustParseAddrPort("10.0.0.5:8080")]) != 1 {
		t.Errorf("%+v", all)
	}
	pod.Containers["app"] = pods.Container{}
	if all := aimsOf([]pods.Pod{pod}); len(all) != 0 {
		t.Errorf("what does not run is not probed: %+v", all)
	}
}

// Some requests at once, and one a second from then on.
func TestTheBudget(t *testing.T) {
	var b budget
	now, made := dawn, 0
	for range 60 {
		for b.wait(now) == 0 {
			b.spent++
			made++
		}
		now = now.Add(time.Second)
	}
	if made < 60 || made > 60+looksAtOnce {
		t.Errorf("%d requests in a minute", made)
	}
}

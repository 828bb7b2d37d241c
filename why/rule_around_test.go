package why

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// owned is a pod of a Deployment's ReplicaSet.
func owned(hash string) *v1.Pod {
	p := web(silentProbe)
	yes := true
	p.Labels = map[string]string{"app": "web", "pod-template-hash": hash}
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-" + hash, Controller: &yes}}
	return p
}

func TestWhoWantedItGone(t *testing.T) {
	for _, c := range []struct {
		name  string
		pod   *v1.Pod
		heir  *v1.Pod
		after time.Duration // when the heir came
		alone bool
		cause answer.Cause
	}{
		{"a newer revision", owned("a1"), owned("b2"), -5 * time.Second, false, answer.RolledOut},
		{"a newer revision, recreated", owned("a1"), owned("b2"), 5 * time.Second, false, answer.RolledOut},
		{"the same revision: somebody deleted it", owned("a1"), owned("a1"), 100 * time.Millisecond, true, answer.Deleted},
		{"nobody came", owned("a1"), nil, 0, true, answer.ScaledDown},
		{"nobody came, on this node", owned("a1"), nil, 0, false, answer.CauseUnknown},
		{"it had no controller", web(silentProbe), nil, 0, true, answer.Deleted},
		{"another workload was rolled out", owned("a1"), func() *v1.Pod { p := owned("b2"); p.OwnerReferences[0].Name = "db-b2"; return p }(), 0, true, answer.ScaledDown},
	} {
		s := tell(t, c.pod)
		s.wait(time.Hour)
		s.see("", 0, fact.DeletionSeen{GraceSeconds: 2})
		at := s.now
		s.wait(time.Minute)
		h := history.New(s.key, s.facts, nil, nil)
		if c.heir != nil {
			c.heir.Namespace, c.heir.Name = "shop", "web-2"
			h.Kin = []fact.Fact{{ID: 999, Seen: at.Add(c.after), Pod: fact.Pod{Namespace: "shop", Name: "web-2", UID: "u2"}, Body: fact.SpecSeen{Object: c.heir}}}
		}
		a := Explain(h, Options{Now: s.now, Alone: c.alone})
		check(t, a)
		if a.Symptoms[0].Kind != answer.Disappeared || a.Verdicts[0].Cause != c.cause {
			t.Errorf("%s: %s", c.name, a.Text(answer.Style{Wide: true}))
		}
	}
}

// Where the control plane tells who asked, that decides.
func TestWhoAskedForIt(t *testing.T) {
	kcm := func(name string) fact.Requested {
		return fact.Requested{Verb: "delete", User: "system:kube-controller-manager", Agent: "whylet/v1.36.3 (linux/amd64) kubernetes/$Format/" + name}
	}
	alice := fact.Requested{Verb: "delete", User: "alice", Agent: "kubectl/v1.36.3 (linux/amd64) kubernetes/abc"}
	for _, c := range []struct {
		name  string
		asked fact.Requested
		heir  string
		cause answer.Cause
		says  string
	}{
		{"a person", alice, "", answer.Deleted, "deleted by alice (kubectl/v1.36.3)."},
		{"a person, while it was rolled out", alice, "b2", answer.Deleted, "deleted by alice"},
		{"a person, and another came", alice, "a1", answer.Deleted, "Its controller made web-2 in its place."},
		{"a person for another", fact.Requested{Verb: "delete", User: "alice", As: "bob"}, "", answer.Deleted, "alice as bob"},
		{"a drain", fact.Requested{Verb: "evict", User: "alice", Agent: "kubectl/v1"}, "", answer.Deleted, "evicted (as kubectl drain does) by alice"},
		{"its controller, for a newer revision", kcm("replicaset-controller"), "b2", answer.RolledOut, ""},
		{"its controller", kcm("replicaset-controller"), "", answer.ScaledDown, ""},
		{"its controller with an account of its own", fact.Requested{Verb: "delete", User: "system:serviceaccount:kube-system:replicaset-controller"}, "", answer.ScaledDown, ""},
		{"the garbage collector", kcm("generic-garbage-collector"), "", answer.Deleted, "what owned it is gone"},
	} {
		s := tell(t, owned("a1"))
		s.wait(time.Hour)
		s.see("", 0, fact.DeletionSeen{GraceSeconds: 2})
		at := s.now
		// It is told after the watch has shown the deletion, and happened before.
		s.last++
		s.facts = append(s.facts, fact.Fact{ID: s.last, At: at.Add(-5 * time.Millisecond), Seen: at.Add(time.Millisecond), Pod: s.key, Body: c.asked})
		s.wait(time.Second)
		h := history.New(s.key, s.facts, nil, nil)
		if c.heir != "" {
			heir := owned(c.heir)
			heir.Namespace, heir.Name = "shop", "web-2"
			h.Kin = []fact.Fact{{ID: 999, Seen: at.Add(time.Second), Pod: fact.Pod{Namespace: "shop", Name: "web-2", UID: "u2"}, Body: fact.SpecSeen{Object: heir}}}
		}
		a := Explain(h, Options{Now: s.now})
		check(t, a)
		if v := a.Verdicts[0]; a.Symptoms[0].Kind != answer.Disappeared || v.Cause != c.cause || !strings.Contains(v.Text, c.says) || c.cause == answer.Deleted && v.Certainty != answer.Recorded {
			t.Errorf("%s: %s", c.name, a.Text(answer.Style{Wide: true}))
		}
	}
}

// A webhook tells of a request before it is decided: it counts if the pod's end follows at
// once, and is never certain.
func TestWhoAskedAndMayHaveBeenRefused(t *testing.T) {
	for before, want := range map[time.Duration]string{
		time.Second: "evicted (as kubectl drain does) at the request of alice",
		time.Minute: "does not record who deleted it", // that one was refused, as a disruption budget does
	} {
		s := tell(t, owned("a1"))
		s.wait(time.Hour)
		s.see("", 0, fact.Requested{Verb: "evict", User: "alice", Asked: true})
		s.wait(before)
		s.see("", 0, fact.DeletionSeen{GraceSeconds: 2})
		s.wait(time.Minute)
		a := s.ask()
		check(t, a)
		if v := a.Verdicts[0]; v.Certainty == answer.Recorded || !strings.Contains(v.Text, want) {
			t.Errorf("%v before: %s", before, a.Text(answer.Style{Wide: true}))
		}
	}
}

// Wrong second verdicts that a busy machine brought about.
func TestBusyMachine(t *testing.T) {
	late := attempt(fact.Liveness, fact.Evidence{Handler: fact.Exec, Target: "check", Timeout: true})
	t.Run("an exec probe that said no, and was late in between", question{
		pod: web(), symptom: answer.Restarted, cause: answer.AppUnhealthy,
		tale: func(s *tale) {
			s.in("app", fact.Sampled{MemoryCurrent: 1})
			s.probe("app", 1, command(fact.Liveness, 1))
			s.probe("app", 2, late)
		},
	}.run)
	t.Run("unready for a moment, in a run that ended by itself later", func(t *testing.T) {
		s := tell(t, web(ready))
		s.probe("app", 3, good(fact.Readiness, time.Millisecond))
		s.probe("app", 3, attempt(fact.Readiness, fact.Evidence{Handler: fact.Exec, Target: "check", Timeout: true}))
		s.probe("app", 3, good(fact.Readiness, time.Millisecond))
		s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true})
		s.wait(time.Minute)
		s.probe("app", 3, good(fact.Readiness, time.Millisecond))
		a := s.ask()
		check(t, a)
		if len(a.Verdicts) != 1 || a.Verdicts[0].Cause != answer.AppExitError {
			t.Error(a.Text(answer.Style{Wide: true}))
		}
	})
	t.Run("an earlier OOM kill of which less was seen", func(t *testing.T) {
		s := tell(t, web(silentProbe))
		s.in("app", oomOfMain)
		s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
		s.wait(time.Minute)
		o := oomOfMain
		o.AnonRSS, o.Limit, o.Tasks = 12<<20, 32<<20, []fact.OOMTask{{PID: 100, RSS: 12 << 20}}
		s.in("app", o)
		s.exit("app", fact.Exited{ExitCode: 137, OOMKnown: true, OOMKills: 1, MainOOMKilled: true})
		a := s.ask()
		check(t, a)
		if v := a.Verdicts[0]; v.Cause != answer.MemoryBackedVolume || len(v.Contributing) > 0 {
			t.Error(a.Text(answer.Style{Wide: true}))
		}
	})
}

// An init container that fails and is tried again fails; one that goes on waits.
func TestInit(t *testing.T) {
	pod := web(silentProbe)
	pod.Spec.InitContainers = []v1.Container{{Name: "prepare", Image: "app:1"}}
	s := tell(t, pod)
	s.wait(5 * time.Second)
	if a := s.ask(); a.Verdicts[0].Cause != answer.InitWaiting {
		t.Error(a.Text(answer.Style{}))
	}
	s.in("prepare", fact.Looked{PID: 90, State: "S", Over: time.Second, Said: []string{`ERROR:  relation "schema_version" does not exist`, "LINE 1: select version from schema_version", "                            ^"}})
	if v := s.ask().Verdicts[0]; !strings.Contains(v.Text, `Its log says: ERROR: relation "schema_version" does not exist / LINE 1: select version from schema_version.`) {
		t.Error(v.Text)
	}
	for range 2 {
		s.exit("prepare", fact.Exited{ExitCode: 1, OOMKnown: true})
		s.wait(30 * time.Second)
	}
	s.exit("prepare", fact.Exited{ExitCode: 1, OOMKnown: true})
	s.wait(41 * time.Second)
	a := s.ask()
	check(t, a)
	if a.Verdicts[0].Cause != answer.InitFailed {
		t.Error(a.Text(answer.Style{Wide: true}))
	}
	s.wait(10 * time.Minute)
	if a = s.ask(); a.Verdicts[0].Cause != answer.InitWaiting {
		t.Error(a.Text(answer.Style{}))
	}
}

// A redirect that is followed, a worker that is stopped, and a listener for IPv6 only.
func TestElsewhere(t *testing.T) {
	readiness := func(c *v1.Container) { c.LivenessProbe, c.ReadinessProbe = nil, httpProbe(8080) }
	sent := func(b fact.Probed, to string) fact.Probed { b.Evidence.Redirected = to; return b }
	for _, q := range []question{
		{name: "it wants HTTPS where nobody listens", cause: answer.ProbeWrongScheme, says: "redirect to HTTPS", tale: func(s *tale) {
			s.probe("app", 3, sent(connectionRefused(fact.Readiness), "https://10.0.0.1/"))
		}},
		{name: "it wants HTTPS where it speaks HTTP", cause: answer.ProbeWrongScheme, says: "redirect to HTTPS", tale: func(s *tale) {
			s.probe("app", 3, sent(noAnswer(fact.Readiness), "https://10.0.0.1:8080/"))
		}},
		{name: "it speaks TLS", cause: answer.ProbeWrongScheme, says: "speaks TLS", tale: func(s *tale) {
			s.probe("app", 3, attempt(fact.Readiness, fact.Evidence{Connect: time.Millisecond, Error: `Get "http://10.0.0.1:8080/": net/http: HTTP/1.x transport connection broken: malformed HTTP response "\x15\x03\x01\x00\x02\x02F"`}))
		}},
		{name: "it sends on to a page that fails", cause: answer.AppUnhealthy, says: "redirected to http://10.0.0.1:8080/login", tale: func(s *tale) {
			s.probe("app", 3, sent(status(fact.Readiness, 500, "no session"), "http://10.0.0.1:8080/login"))
		}},
		{name: "a worker is stopped", cause: answer.ProcessStopped, says: "A process (perl)", tale: func(s *tale) {
			s.probe("app", 2, good(fact.Readiness, time.Millisecond))
			s.probe("app", 2, noAnswer(fact.Readiness))
			s.in("app", fact.Looked{PID: 100, State: "S", Processes: 2, Stopped: &fact.StoppedProcess{PID: 117, Command: "perl", State: "T"}, Over: time.Second, Listeners: []fact.Listener{{Address: "0.0.0.0:8080", PID: 100, Backlog: 1}}})
			s.probe("app", 1, noAnswer(fact.Readiness))
		}},
		{name: "a process is stopped that has nothing to do with it", cause: answer.AppUnhealthy, tale: func(s *tale) {
			s.probe("app", 2, good(fact.Readiness, time.Millisecond))
			s.in("app", fact.Looked{PID: 100, State: "S", Processes: 2, Stopped: &fact.StoppedProcess{PID: 117, Command: "less", State: "T"}})
			s.probe("app", 3, status(fact.Readiness, 500, "no db"))
		}},
		{name: "it listens over IPv6 only", cause: answer.AppListensElse, says: "over IPv6 only", tale: func(s *tale) {
			s.probe("app", 2, connectionRefused(fact.Readiness))
			s.in("app", fact.Looked{PID: 100, State: "S", Processes: 1, Listeners: []fact.Listener{{Address: "[::]:8080", PID: 100, V6Only: true}}})
			s.probe("app", 1, connectionRefused(fact.Readiness))
		}},
	} {
		t.Run(q.name, func(t *testing.T) {
			q.pod, q.symptom = web(readiness), answer.NotReady
			q.run(t)
		})
	}
}

func TestSetUpFailed(t *testing.T) {
	h := &inquiry{History: history.New(fact.Pod{Namespace: "shop", Name: "web-1"}, nil, nil, nil)}
	failed := &fact.Fact{ID: 1, Body: fact.SetUpFailed{Stage: "sandbox", Message: "failed to create shim task: OCI runtime create failed: container init was OOM-killed (memory limit too low?)"}}
	if v := h.explainSetUp(failed); v.Cause != answer.MemoryLimit {
		t.Errorf("%s: %s", v.Cause, v.Text)
	}
	failed.Body = fact.SetUpFailed{Stage: "sandbox", Message: `Failed to create pod sandbox: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused"`}
	if v := h.explainSetUp(failed); v.Cause != answer.RuntimeFailed {
		t.Errorf("%s: %s", v.Cause, v.Text)
	}
	failed.Body = fact.SetUpFailed{Stage: "volumes", Message: `MountVolume.SetUp failed for volume "kube-api-access-vwc2r" : object "shop"/"kube-root-ca.crt" not registered`}
	if v := h.explainSetUp(failed); v.Cause != answer.CauseUnknown {
		t.Errorf("%s: %s", v.Cause, v.Text)
	}
	failed.Body = fact.SetUpFailed{Stage: "volumes", Message: `MountVolume.SetUp failed for volume "kube-api-access-khff2" : write /var/lib/kubelet/pods/u1/volumes/kubernetes.io~projected/kube-api-access-khff2/token: no space left on device`}
	if v := h.explainSetUp(failed); v.Cause != answer.DiskFull {
		t.Errorf("%s: %s", v.Cause, v.Text)
	}
	h.Object = web(func(c *v1.Container) {
		c.Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse("64m")}
	})
	if v := h.explainSetUp(failed); v.Cause != answer.VolumeFailed || !strings.Contains(v.Text, "64Mi") {
		t.Errorf("%s: %s", v.Cause, v.Text)
	}
	for _, passedOn := range []string{"no address is left", `rpc error: code = Unknown desc = failed to setup network for sandbox: plugin: rpc error: code = Unavailable desc = dial tcp 10.0.0.1:443: connect: connection refused`} {
		failed.Body = fact.SetUpFailed{Stage: "sandbox", Message: passedOn}
		if v := h.explainSetUp(failed); v.Cause != answer.SandboxFailed {
			t.Errorf("%s: %s", v.Cause, v.Text)
		}
	}
}

// A taint that the control plane set for a node that is away is told from one that
// somebody set.
func TestDeletedForTaint(t *testing.T) {
	for _, c := range []struct {
		name  string
		away  bool
		cause answer.Cause
		says  string
	}{
		{"somebody set it", false, answer.Deleted, "somebody set that taint"},
		{"its node was away", true, answer.NodeLost, "did not report"},
	} {
		s := tell(t, web(silentProbe))
		s.wait(time.Hour)
		if c.away {
			s.node = append(s.node, fact.Fact{ID: 1 << 20, At: s.now, Seen: s.now, Body: fact.AgentStarted{Previous: fact.RunRebooted, LastSeen: s.now.Add(-8 * time.Minute)}})
		}
		s.see("", 0, fact.ConditionsSeen{Conditions: []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: "DeletionByTaintManager", Message: "Taint manager: deleting due to NoExecute taint"}}})
		s.see("", 0, fact.DeletionSeen{GraceSeconds: 2})
		s.wait(5 * time.Second)
		a := s.ask()
		check(t, a)
		if v := a.Verdicts[0]; v.Cause != c.cause || !strings.Contains(v.Text, c.says) {
			t.Errorf("%s: %s", c.name, a.Text(answer.Style{Wide: true}))
		}
	}
}

// The API server writes into a pod that it was asked to evict it, right before it deletes it.
func TestEvictedByTheAPIServer(t *testing.T) {
	for _, c := range []struct {
		name      string
		is        v1.ConditionStatus
		reason    string
		set       time.Duration // against the deletion
		cause     answer.Cause
		certainty answer.Certainty
		says      string
	}{
		{"a drain", v1.ConditionTrue, fact.EvictedByAPI, -time.Millisecond, answer.Deleted, answer.Recorded, "somebody asked the API server to evict it"},
		{"the deletion came later", v1.ConditionTrue, fact.EvictedByAPI, -time.Minute, answer.Deleted, answer.Inferred, "somebody asked the API server to evict it"},
		{"it came to nothing", v1.ConditionFalse, fact.EvictedByAPI, -time.Minute, answer.CauseUnknown, answer.Unknown, "does not record who deleted it"},
		{"it went already", v1.ConditionTrue, fact.EvictedByAPI, time.Second, answer.CauseUnknown, answer.Unknown, "does not record who deleted it"},
		{"kubelet ended it before", v1.ConditionTrue, v1.PodReasonTerminationByKubelet, -time.Hour, answer.CauseUnknown, answer.Unknown, "does not record who deleted it"},
	} {
		s := tell(t, owned("a1"))
		s.wait(2 * time.Hour)
		at := s.now
		conditions := fact.ConditionsSeen{Conditions: []v1.PodCondition{{Type: v1.DisruptionTarget, Status: c.is, Reason: c.reason, Message: "Eviction API: evicting", LastTransitionTime: metav1.NewTime(at.Add(c.set))}}}
		if c.set < 0 {
			s.see("", 0, conditions)
		}
		s.see("", 0, fact.DeletionSeen{GraceSeconds: 2})
		if c.set > 0 {
			s.see("", 0, conditions)
		}
		s.wait(5 * time.Second)
		a := s.ask()
		check(t, a)
		if v := a.Verdicts[0]; v.Cause != c.cause || v.Certainty != c.certainty || !strings.Contains(v.Text, c.says) {
			t.Errorf("%s: %s", c.name, a.Text(answer.Style{Wide: true}))
		}
	}
}

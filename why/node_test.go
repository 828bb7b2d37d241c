package why

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// tick makes a fact about the node, seconds after dawn.
func tick(id fact.ID, seconds int, body fact.Body) fact.Fact {
	when := dawn.Add(time.Duration(seconds) * time.Second)
	return fact.Fact{ID: id, At: when, Seen: when, Body: body}
}

func inPod(f fact.Fact, name, container string) fact.Fact {
	f.Pod, f.Container = fact.Pod{Namespace: "shop", Name: name, UID: types.UID(name)}, container
	return f
}

// Each way in which a node is away is told from the others by its evidence.
func TestOutages(t *testing.T) {
	stall := fact.AgentStalled{From: dawn, Until: dawn.Add(time.Minute)}
	with := func(change func(*fact.AgentStalled)) fact.AgentStalled {
		s := stall
		change(&s)
		return s
	}
	for _, c := range []struct {
		name  string
		facts []fact.Fact
		want  string
		rule  string
	}{
		{"stopped", []fact.Fact{tick(1, 60, with(func(s *fact.AgentStalled) { s.Continued = true }))}, "SIGSTOP", "agent-stopped"},
		{"frozen", []fact.Fact{tick(1, 60, stall)}, "frozen", "agent-frozen"},
		{"asleep, although it was continued", []fact.Fact{tick(1, 60, with(func(s *fact.AgentStalled) { s.Suspended, s.Continued = 58*time.Second, true }))}, "machine itself slept for 58 s", "machine-suspended"},
		{"no CPU", []fact.Fact{tick(1, 60, with(func(s *fact.AgentStalled) { s.CPUWait = 40 * time.Second }))}, "had no CPU", "agent-starved-of-cpu"},
		{"no memory", []fact.Fact{tick(1, 60, with(func(s *fact.AgentStalled) { s.MemoryStall, s.MajorFaults = 50*time.Second, 12345 }))}, "waited for memory for 50 s of it (12345 pages", "agent-starved-of-memory"},
		{
			"killed",
			[]fact.Fact{tick(1, 0, fact.AgentStarted{PID: 7, Previous: fact.NoRunBefore}), tick(2, 60, fact.AgentStarted{PID: 8, Previous: fact.RunKilled, LastSeen: dawn})},
			"no OOM kill of it", "agent-killed",
		},
		{
			"stuck",
			[]fact.Fact{
				tick(1, 0, fact.AgentStarted{PID: 7, Previous: fact.NoRunBefore}),
				tick(2, 60, fact.AgentStarted{PID: 8, Previous: fact.RunKilled, LastSeen: dawn, StuckSince: dawn.Add(time.Second)}),
			},
			"made no progress from 05:00:01Z on", "agent-stuck",
		},
		{
			"OOM-killed, which only the next agent reads",
			[]fact.Fact{
				tick(1, 0, fact.AgentStarted{PID: 7, Previous: fact.NoRunBefore}),
				tick(2, 60, fact.AgentStarted{PID: 8, Previous: fact.RunKilled, LastSeen: dawn.Add(time.Second)}),
				tick(3, 2, fact.OOMKilled{PID: 7, Command: "whylet", AnonRSS: 300 << 20}),
			},
			"the kernel chose whylet, pid 7, which held 300Mi", "",
		},
		{
			"another's OOM kill",
			[]fact.Fact{
				tick(1, 0, fact.AgentStarted{PID: 7, Previous: fact.NoRunBefore}), tick(2, 2, fact.OOMKilled{PID: 9}),
				tick(3, 60, fact.AgentStarted{PID: 8, Previous: fact.RunKilled, LastSeen: dawn.Add(time.Second)}),
			},
			"no OOM kill of it", "agent-killed",
		},
		{"rebooted", []fact.Fact{tick(2, 60, fact.AgentStarted{Previous: fact.RunRebooted, LastSeen: dawn})}, "rebooted", ""},
		{"shut down", []fact.Fact{tick(2, 60, fact.AgentStarted{Previous: fact.RunClean, LastSeen: dawn})}, "shut down", ""},
		{
			"its control plane had ended",
			[]fact.Fact{
				tick(1, 0, fact.AgentStarted{PID: 7, Previous: fact.NoRunBefore}),
				tick(2, 21, fact.Lost{Source: "api", Reason: "connection refused", From: dawn.Add(time.Second)}),
				tick(3, 60, fact.AgentStopped{Reason: "the disk was full", Since: dawn}),
				tick(4, 62, fact.AgentStarted{PID: 7, Previous: fact.RunClean, LastSeen: dawn.Add(time.Minute)}),
			},
			"its control plane had ended: the disk was full", "",
		},
		{
			"shut down after its control plane had ended once",
			[]fact.Fact{
				tick(3, -90, fact.AgentStopped{Reason: "the disk was full", Since: dawn.Add(-time.Hour)}),
				tick(4, 0, fact.AgentStopped{}),
				tick(5, 62, fact.AgentStarted{PID: 7, Previous: fact.RunClean, LastSeen: dawn}),
			},
			"shut down", "",
		},
		{
			"cut off, which is told twice",
			[]fact.Fact{
				tick(1, 20, fact.Lost{Source: "api", Reason: "connection refused", From: dawn}),
				tick(2, 60, fact.Lost{Source: "api", From: dawn, Until: dawn.Add(time.Minute)}),
			},
			"the API server did not answer", "",
		},
		{"nothing", []fact.Fact{tick(1, 0, fact.AgentStarted{Previous: fact.NoRunBefore}), tick(2, 3, fact.Lost{Source: "kmsg"})}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := Outages(c.facts)
			if c.want == "" {
				if len(all) != 0 {
					t.Errorf("found %+v", all)
				}
				return
			}
			if len(all) != 1 || !strings.Contains(all[0].Text, c.want) || all[0].Rule != c.rule {
				t.Fatalf("found %+v", all)
			}
			if !all[0].Long(dawn.Add(time.Hour)) || len(all[0].Chain) == 0 {
				t.Errorf("%+v", all[0])
			}
		})
	}
}

func TestNodeMemory(t *testing.T) {
	node := []fact.Fact{tick(1, 160, fact.AgentStalled{From: dawn.Add(100 * time.Second), Until: dawn.Add(160 * time.Second), Continued: true})}
	pods := []fact.Fact{
		inPod(tick(2, 10, fact.Started{}), "web", "c"), inPod(tick(3, 20, fact.Started{}), "db", "c"), inPod(tick(4, 30, fact.Started{}), "old", "c"),
		inPod(tick(5, 40, fact.Exited{}), "old", "c"), inPod(tick(6, 130, fact.Exited{}), "db", "c"),
		// One started after the last sign of life, and what ended was started again.
		inPod(tick(8, 101, fact.Started{}), "late", "c"), inPod(tick(9, 150, fact.Started{}), "db", "c"),
		inPod(tick(7, 300, fact.Evict{Signal: "memory.available", Ranking: []fact.Ranked{
			{Pod: fact.Pod{Namespace: "shop", Name: "web"}, QoS: "Burstable", Priority: 3, Usage: 600 << 20, Request: 16 << 20},
			{Pod: fact.Pod{Namespace: "shop", Name: "db"}, QoS: "Guaranteed", Usage: 10 << 20, Request: 20 << 20},
		}}), "web", ""),
	}
	a := NodeMemory("n", node, pods, Options{Now: dawn.Add(10 * time.Minute)})
	text := a.Text(answer.Style{})
	for _, want := range []string{
		"node n · Unknown · it was away for 60 s", "The node did not report from 05:01:40Z to 05:02:40Z (60 s): its agent was stopped",
		"1 container ended in that time (shop/db/c); 2 others kept running",
		"cause: node-lost, inferred (rule agent-stopped)",
		"node n · Evicted · pod shop/web", "1. shop/web uses 600Mi, asked for 16Mi (Burstable, priority 3)", "2. shop/db uses 10Mi",
		"cause: evicted-memory, recorded",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if quiet := NodeMemory("n", nil, nil, Options{Now: dawn}); len(quiet.Verdicts) != 1 || quiet.Verdicts[0].Cause != answer.None {
		t.Errorf("%+v", quiet)
	}
	if later := NodeMemory("n", node, pods, Options{Now: dawn.Add(time.Hour), Since: dawn.Add(30 * time.Minute)}); later.Verdicts[0].Cause != answer.None {
		t.Errorf("since: %+v", later.Symptoms)
	}
}

// A pod that came through an outage of its node says so for an hour, and that it
// was not restarted for it.
func TestPodOfANodeThatWasAway(t *testing.T) {
	s := tell(t, &v1.Pod{Spec: v1.PodSpec{NodeName: "second", Containers: []v1.Container{{Name: "c"}}}})
	s.wait(10 * time.Second)
	from := s.now
	s.wait(time.Minute)
	s.node = append(s.node, fact.Fact{ID: 1000, Seen: s.now, At: s.now, Body: fact.AgentStalled{From: from, Until: s.now, Continued: true}})
	explain := func(later time.Duration) answer.Answer {
		return Explain(history.New(s.key, s.facts, s.node, nil), Options{Now: s.now.Add(later)})
	}
	a := explain(time.Minute)
	v := a.Verdicts[len(a.Verdicts)-1]
	if v.Cause != answer.NodeLost || a.Symptoms[len(a.Symptoms)-1].Kind != answer.UnknownNode ||
		!strings.Contains(v.Text, "Nothing was lost: its one container kept running") || v.Fixes[0].Command != "kubectl why node/second" {
		t.Errorf("%+v", v)
	}
	if len(a.Journal.Gaps) != 1 || !strings.Contains(a.Journal.Gaps[0].Reason, "SIGSTOP") {
		t.Errorf("gaps %+v", a.Journal.Gaps)
	}
	if late := explain(2 * time.Hour); late.Verdicts[0].Cause != answer.None || len(late.Journal.Gaps) != 1 {
		t.Errorf("later: %+v", late.Verdicts)
	}
}

// A runtime that was killed and came back is told of, with what ran on.
func TestRuntimeWasAway(t *testing.T) {
	gap := fact.Lost{Source: fact.SourceRuntime, Reason: "connection refused", From: dawn.Add(10 * time.Second), Until: dawn.Add(19 * time.Second)}
	pods := []fact.Fact{inPod(tick(1, 1, fact.Started{ContainerID: "containerd://a", PID: 7}), "web", "app")}
	a := NodeMemory("node-a", []fact.Fact{tick(2, 19, gap)}, pods, Options{Now: dawn.Add(time.Minute)})
	if len(a.Verdicts) != 1 || a.Verdicts[0].Cause != answer.NodeLost {
		t.Fatalf("%+v", a)
	}
	for _, want := range []string{"from 05:00:10Z to 05:00:19Z (9 s): connection refused", "kept running"} {
		if !strings.Contains(a.Verdicts[0].Text, want) {
			t.Errorf("%q is not in %q", want, a.Verdicts[0].Text)
		}
	}
	if a := NodeMemory("node-a", []fact.Fact{tick(2, 19, gap)}, pods, Options{Now: dawn.Add(time.Hour), Since: dawn.Add(30 * time.Minute)}); a.Symptoms[0].Kind != answer.Healthy {
		t.Errorf("what was long ago is told: %+v", a.Symptoms)
	}
}

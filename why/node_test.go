package why

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
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
			[]fact.Fact{tick(1, 0, fact.AgentStarted{PID: 7, Previous: "first"}), tick(2, 60, fact.AgentStarted{PID: 8, Previous: "killed", LastSeen: dawn})},
			"no OOM kill of it", "agent-killed",
		},
		{
			"OOM-killed, which only the next agent reads",
			[]fact.Fact{
				tick(1, 0, fact.AgentStarted{PID: 7, Previous: "first"}),
				tick(2, 60, fact.AgentStarted{PID: 8, Previous: "killed", LastSeen: dawn.Add(time.Second)}),
				tick(3, 2, fact.OOMKilled{PID: 7, Command: "whylet", AnonRSS: 300 << 20}),
			},
			"the kernel chose whylet, pid 7, which held 300Mi", "",
		},
		{
			"another's OOM kill",
			[]fact.Fact{
				tick(1, 0, fact.AgentStarted{PID: 7, Previous: "first"}), tick(2, 2, fact.OOMKilled{PID: 9}),
				tick(3, 60, fact.AgentStarted{PID: 8, Previous: "killed", LastSeen: dawn.Add(time.Second)}),
			},
			"no OOM kill of it", "agent-killed",
		},
		{"rebooted", []fact.Fact{tick(2, 60, fact.AgentStarted{Previous: "reboot", LastSeen: dawn})}, "rebooted", ""},
		{"shut down", []fact.Fact{tick(2, 60, fact.AgentStarted{Previous: "clean", LastSeen: dawn})}, "shut down", ""},
		{
			"its control plane had ended",
			[]fact.Fact{
				tick(1, 0, fact.AgentStarted{PID: 7, Previous: "first"}),
				tick(2, 21, fact.Lost{Source: "api", Reason: "connection refused", From: dawn.Add(time.Second)}),
				tick(3, 60, fact.AgentStopped{Reason: "the disk was full", Since: dawn}),
				tick(4, 62, fact.AgentStarted{PID: 7, Previous: "clean", LastSeen: dawn.Add(time.Minute)}),
			},
			"its control plane had ended: the disk was full", "",
		},
		{
			"shut down after its control plane had ended once",
			[]fact.Fact{
				tick(3, -90, fact.AgentStopped{Reason: "the disk was full", Since: dawn.Add(-time.Hour)}),
				tick(4, 0, fact.AgentStopped{}),
				tick(5, 62, fact.AgentStarted{PID: 7, Previous: "clean", LastSeen: dawn}),
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
		{"nothing", []fact.Fact{tick(1, 0, fact.AgentStarted{Previous: "first"}), tick(2, 3, fact.Lost{Source: "kmsg"})}, "", ""},
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
		"node n · Unknown · it was away for 60 s", "From 05:01:40Z to 05:02:40Z (60 s) nothing was heard of the node: its agent was stopped",
		"1 container ended meanwhile (shop/db/c); 2 others ran through it",
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
		return Explain(NewHistory(s.key, s.facts, s.node, nil), Options{Now: s.now.Add(later)})
	}
	a := explain(time.Minute)
	v := a.Verdicts[len(a.Verdicts)-1]
	if v.Cause != answer.NodeLost || a.Symptoms[len(a.Symptoms)-1].Kind != answer.UnknownNode ||
		!strings.Contains(v.Text, "Nothing was lost: all 1 container ran through it") || v.Fixes[0].Command != "kubectl why node/second" {
		t.Errorf("%+v", v)
	}
	if len(a.Journal.Gaps) != 1 || !strings.Contains(a.Journal.Gaps[0].Reason, "SIGSTOP") {
		t.Errorf("gaps %+v", a.Journal.Gaps)
	}
	if late := explain(2 * time.Hour); late.Verdicts[0].Cause != answer.None || len(late.Journal.Gaps) != 1 {
		t.Errorf("later: %+v", late.Verdicts)
	}
}

func podWith(name, request, limit string, priority int32) v1.Pod {
	p := v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
	c := v1.Container{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{}, Limits: v1.ResourceList{}}}
	if request != "" {
		c.Resources.Requests[v1.ResourceMemory] = resource.MustParse(request)
	}
	if limit != "" {
		c.Resources.Limits[v1.ResourceMemory] = resource.MustParse(limit)
	}
	p.Spec.Containers, p.Spec.Priority, p.Status.Phase, p.Status.QOSClass = []v1.Container{c}, &priority, v1.PodRunning, v1.PodQOSBurstable
	return p
}

func nodeOf(memory string, ready v1.ConditionStatus, pressures ...v1.NodeConditionType) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceMemory: resource.MustParse(memory)}
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(dawn), Message: "Kubelet stopped posting node status."}}
	for _, p := range pressures {
		n.Status.Conditions = append(n.Status.Conditions, v1.NodeCondition{Type: p, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(dawn), Message: "kubelet has insufficient memory available"})
	}
	return n
}

// The page that this is for: limits of 180 % of the node, and nothing that says so.
func TestPromised(t *testing.T) {
	pods := []v1.Pod{podWith("app", "100Mi", "1Gi", 0), podWith("db", "512Mi", "512Mi", 10), podWith("batch", "", "", 0), podWith("cache", "64Mi", "334Mi", 5)}
	done := podWith("done", "4Gi", "4Gi", 0)
	done.Status.Phase = v1.PodSucceeded
	pods = append(pods, done)
	c := NodeCase{Node: nodeOf("1Gi", v1.ConditionTrue), Pods: pods}
	say := func(c NodeCase) string {
		a := NodeAnswer(c, Options{Now: dawn})
		if a.Symptoms[len(a.Symptoms)-1].Kind != answer.Healthy {
			t.Errorf("%+v", a.Symptoms)
		}
		return strings.Join(strings.Fields(a.Text(answer.Style{})), " ")
	}
	text := say(c)
	for _, want := range []string{
		"Of the 1Gi that pods may have, they asked for 676Mi (66 %), and their limits add up to 1870Mi (182 %). 1 pod has no limit at all.",
		"and so push out others: shop/app, shop/batch, shop/cache",
		"never use more than they asked for, and go last: shop/db",
		"if all used what they may, they would go in this order: shop/batch, shop/app, shop/cache, shop/db",
		"cause: node-overcommitted, inferred (rule promised-memory)", "give shop/batch a memory limit and request",
	} {
		if !strings.Contains(text, strings.Join(strings.Fields(want), " ")) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	c.Usage = map[types.UID]int64{"app": 90 << 20, "db": 500 << 20, "batch": 1 << 20, "cache": 300 << 20}
	text = say(c)
	for _, want := range []string{
		"if memory ran short now, pods would go in this order: 1. shop/batch uses 1Mi, asked for 0 (Burstable, priority 0); 2. shop/cache uses 300Mi",
		"3. shop/app", "4. shop/db",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	c.Pods = []v1.Pod{pods[0], pods[1], pods[3]}
	text = say(c)
	for _, want := range []string{"lower the memory limit of shop/app from 1Gi to", "lower the memory limit of shop/cache from 334Mi to"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	c.Pods = pods[1:3]
	if text := say(c); !strings.Contains(text, "1 pod has no limit at all.") || !strings.Contains(text, "cause: none") {
		t.Errorf("limits that fit, and a pod without one: %s", text)
	}
	c.Pods = pods[1:2]
	if text := say(c); !strings.Contains(text, "Nothing can push anything out.") || !strings.Contains(text, "cause: none") {
		t.Errorf("it says %s", text)
	}
}

func TestNodeAnswer(t *testing.T) {
	pods := []v1.Pod{podWith("app", "100Mi", "1Gi", 0)}
	pressed := NodeAnswer(NodeCase{Node: nodeOf("4Gi", v1.ConditionTrue, v1.NodeMemoryPressure), Pods: pods}, Options{Now: dawn})
	if pressed.Symptoms[0].Kind != answer.NotReady || pressed.Verdicts[0].Cause != answer.EvictedMemory || !strings.Contains(pressed.Verdicts[0].Text, "asked for no memory") {
		t.Errorf("%+v", pressed)
	}
	lost := NodeAnswer(NodeCase{Node: nodeOf("4Gi", v1.ConditionUnknown), Pods: pods}, Options{Now: dawn.Add(time.Minute)})
	if lost.Symptoms[0].Kind != answer.UnknownNode || lost.Verdicts[0].Cause != answer.NodeLost || !strings.Contains(lost.Verdicts[0].Text, "1 pod bound to it ran") {
		t.Errorf("%+v", lost.Verdicts[0])
	}
	memory := NodeMemory("n", []fact.Fact{tick(1, 60, fact.AgentStalled{From: dawn, Until: dawn.Add(time.Minute)})}, nil, Options{Now: dawn.Add(time.Hour)})
	whole := NodeAnswer(NodeCase{Node: nodeOf("4Gi", v1.ConditionTrue), Pods: pods, Memory: &memory}, Options{Now: dawn.Add(time.Hour)})
	if len(whole.Symptoms) != 2 || whole.Symptoms[0].Kind != answer.UnknownNode || whole.Symptoms[1].ID != "s2" || whole.Verdicts[1].Cause != answer.None {
		t.Errorf("%+v", whole.Symptoms)
	}
}

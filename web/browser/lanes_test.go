package browser

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/web"
	"whylet.dev/whylet/why/serve"
)

// lanes are what a page shows of a history in which everything happened that has a place
// on it: a table's title, and words that stand in it.
var lanes = []struct{ title, words string }{
	{"Pod: Phase", "Running"},
	{"Pod: Life", "evicted"},
	{"Pod: Ready", "False"},
	{"Pod: Gate example.com/gate", "not set"},
	{"Container app: Image", "pull"},
	{"Container app: Runs", "back-off"},
	{"Container app: Ready", "not ready"},
	{"Container app: Processes", "worker"},
	{"Container app: Liveness probe", "(25)"}, // folded successes
	{"Container app: Liveness probe", "asked again with more time"},
	{"Container app: Memory", "OOM kill"},
	{"Container app: Memory", "of it page cache"},
	{"Container app: CPU", "used"},
	{"Container app: CPU throttled", "50 %"},
	{"Container app: Pressure", "for memory"},
	{"Container app: Processes and threads", "processes"},
	{"Around: Last words", "out of memory, said the heap"},
	{"Around: Who changed it", "ada@example.com"},
	{"Around: Who changed it", "example.com/gate=True"},
	{"Node: Who looked", "agent stalled"},
	{"Node: Who looked", "api not seen"},
	{"Node: Machine", "MemoryPressure"},
	{"Node: Machine", "set back by 3s"},
}

// What a page promises to show has a lane, each lane is a table, and each mark leads to
// its fact.
func TestLanes(t *testing.T) {
	source := eventful(t)
	d, _ := document(t, source, about(source))
	b := open(t, 1280, 1000)
	b.show(d)
	eval[any](b, "document.querySelectorAll('.tables details').forEach(d => { d.open = true })")
	b.do(chromedp.WaitVisible(chromedp.CSS(".tables table")))
	tables := eval[map[string]string](b, `Object.fromEntries([...document.querySelectorAll('.tables details')].map(d => [d.querySelector('summary').firstChild.textContent, d.textContent]))`)
	for _, l := range lanes {
		if text, ok := tables[l.title]; !ok || !strings.Contains(text, l.words) {
			t.Errorf("%q does not say %q: %.300q", l.title, l.words, text)
		}
	}
	b.leads()
	b.calm()
}

// A node's page has its memory, its pods by their runs, and in which order they would have
// been evicted.
func TestNode(t *testing.T) {
	source := eventful(t)
	q := serve.Question{Name: "vm"}
	q.Now = source.Stats().Last
	a, err := serve.Node(source, q)
	if err != nil {
		t.Fatal(err)
	}
	d, err := web.FromJournal(source, q, a, "kubectl why node/vm")
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, 1280, 1000)
	b.show(d)
	names := eval[[]string](b, "[...document.querySelectorAll('.tables summary')].map(s => s.firstChild.textContent)")
	for _, want := range []string{"Node: Who looked", "Node: Machine", "Node: Memory left", "Pods: shop/web-1"} {
		if !slices.Contains(names, want) {
			t.Errorf("no lane %q among %q", want, names)
		}
	}
	eval[any](b, "document.querySelectorAll('.tables details').forEach(d => { d.open = true })")
	b.do(chromedp.WaitVisible(chromedp.CSS(".tables table")),
		chromedp.Click(chromedp.Search("//div[@class='whole']//details[contains(., 'Pods: shop/web-1')]//tr[contains(., 'order of eviction')]//button")), chromedp.WaitVisible(chromedp.CSS(".detail .said")))
	if got := b.text(".detail .said"); !strings.Contains(got, "1. shop/web-1 (BestEffort") || !strings.Contains(got, "2. shop/db-0 (Burstable") {
		t.Error("the order of eviction:", got)
	}
	b.accessible()
	b.calm()
}

// leads chooses every mark of the page by its row in a table, and then every line of the
// answer that can be chosen.
func (b *tab) leads() {
	b.t.Helper()
	eval[any](b, `window.lost = undefined; (async () => {
		const lost = [], next = () => new Promise(f => setTimeout(f))
		for (const button of document.querySelectorAll('.tables td button')) {
			button.click()
			await next()
			if (!document.querySelector('.detail .raw pre, .detail .facts button')) lost.push('mark at ' + button.textContent)
		}
		for (const button of document.querySelectorAll('.answers button')) {
			document.querySelector('.detail .close')?.click()
			await next()
			button.click()
			await next()
			if (!document.querySelector('.detail .raw') && !button.closest('.hop') && !button.classList.contains('drawn') && !document.querySelector('.arrows .strong').getAttribute('d')) lost.push('line ' + button.textContent)
		}
		window.lost = lost
	})(); null`)
	b.until("window.lost !== undefined")
	for _, what := range eval[[]string](b, "window.lost") {
		b.t.Error("it leads to no fact:", what)
	}
}

// eventful is a history in which everything happens.
func eventful(t *testing.T) journal.Source {
	t.Helper()
	outset := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	pod := fact.Pod{Namespace: "shop", Name: "web-1", UID: "u"}
	object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID}, Spec: v1.PodSpec{
		ReadinessGates: []v1.PodReadinessGate{{ConditionType: "example.com/gate"}},
		Containers:     []v1.Container{{Name: "app", Image: "shop:1", LivenessProbe: &v1.Probe{TimeoutSeconds: 1, PeriodSeconds: 10, FailureThreshold: 3}}},
	}}
	var all []fact.Fact
	add := func(seconds float64, container string, body fact.Body, because ...fact.ID) fact.ID {
		id, at := fact.ID(len(all)+1), outset.Add(time.Duration(seconds*float64(time.Second)))
		f := fact.Fact{ID: id, At: at, Seen: at, Mono: at.Sub(outset), Boot: "b", Pod: pod, Container: container, Because: because, Body: body}
		if container == "node" {
			f.Pod, f.Container = fact.Pod{}, ""
		}
		all = append(all, f)
		return id
	}
	moment := func(seconds int) time.Time { return outset.Add(time.Duration(seconds) * time.Second) }
	condition := func(status v1.ConditionStatus) fact.SetCondition {
		return fact.SetCondition{Condition: v1.PodCondition{Type: v1.PodReady, Status: status}}
	}
	late := &fact.Evidence{Handler: fact.HTTPGet, Target: "http://10.0.0.1:8080/", Timeout: true}
	answered := &fact.Evidence{Handler: fact.HTTPGet, Target: "http://10.0.0.1:8080/", Status: 200}

	spec := add(0, "", fact.SpecSeen{Object: object, Source: "api", By: "helm"})
	add(0.1, "", fact.Admitted{}, spec)
	add(0.2, "", fact.SetPhase{Phase: v1.PodPending}, spec)
	add(0.3, "", condition(v1.ConditionFalse), spec)
	set := add(1, "", fact.SetUp{}, spec)
	add(2, "", fact.SetUpDone{IPs: []string{"10.0.0.1"}}, set)
	pull := add(2, "app", fact.ImagePulling{Image: "shop:1"}, set)
	add(5, "app", fact.ImageReady{Image: "shop:1"}, pull)
	start := add(6, "app", fact.Started{ContainerID: "c://1"}, pull)
	add(6, "app", fact.Marked{Ready: true, Started: true}, start)
	add(6, "", fact.SetPhase{Phase: v1.PodRunning}, start)
	add(7, "", fact.ConditionsSeen{Conditions: []v1.PodCondition{{Type: "example.com/gate", Status: v1.ConditionTrue}}})
	add(7, "", condition(v1.ConditionTrue), start)
	add(8, "app", fact.Probed{Probe: fact.Liveness, Verdict: fact.Success, Took: 9 * time.Millisecond, Count: 25, Until: moment(250), Latency: []int64{0, 5, 15, 5}})
	for i := range 26 {
		busy := time.Duration(max(0, i-20)) * time.Second
		add(8+float64(10*i), "app", fact.Sampled{
			MemoryCurrent: int64(20+3*i) << 20, MemoryFile: 8 << 20, MemoryLimit: 100 << 20, CPUUsage: time.Duration(i)*time.Second + busy,
			Periods: int64(100 * i), ThrottledPeriods: int64(50 * i), CPUSome: busy, MemorySome: busy, PIDs: int64(4 + i/5), PIDLimit: 64,
		})
	}
	add(100, "node", fact.AgentStalled{From: moment(90), Until: moment(100), CPUWait: 9 * time.Second})
	add(130, "node", fact.Lost{Source: "api", Reason: "the connection was cut", From: moment(110), Until: moment(130)})
	add(140, "node", fact.ClockStepped{By: -3 * time.Second})
	add(230, "node", fact.NodeSignals{MemoryAvailable: 1 << 30, MemoryCapacity: 8 << 30})
	var failed []fact.ID
	for i := range 3 {
		at := 258 + float64(10*i)
		failed = append(failed, add(at, "app", fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure, Took: time.Second, Message: "context deadline exceeded", Evidence: late}))
		add(at+3, "app", fact.AskedAgain{Probe: fact.Liveness, Patience: 10 * time.Second, Timeout: time.Second, Verdict: fact.Success, Took: 2400 * time.Millisecond, Evidence: answered}, failed[i])
	}
	add(279, "app", fact.Marked{Started: true}, failed...)
	add(279, "", condition(v1.ConditionFalse), failed...)
	kill := add(279, "app", fact.Kill{Reason: fact.KillLiveness, GraceSeconds: 30}, failed...)
	add(290, "app", fact.OOMKilled{PID: 7, Command: "worker", Limit: 100 << 20, Usage: 100 << 20})
	add(291, "app", fact.ProcessEnded{PID: 7, Command: "worker", Signal: 9})
	end := add(309, "app", fact.Exited{ContainerID: "c://1", ExitCode: 137, StatusKnown: true, OOMKnown: true, LastLines: []string{"out of memory, said the heap"}}, kill)
	add(309, "app", fact.BackOff{What: "container", Delay: 10 * time.Second, Until: moment(319)}, end)
	pressed := add(320, "node", fact.NodeSignals{MemoryAvailable: 1 << 20, MemoryCapacity: 8 << 30, Conditions: []string{"MemoryPressure"}})
	add(321, "", fact.Requested{Verb: "evict", User: "ada@example.com", Agent: "kubectl"})
	evict := add(322, "", fact.Evict{Reason: "Evicted", Message: "The node was low on resource: memory.", Signal: "memory.available", Ranking: []fact.Ranked{
		{Pod: pod, QoS: "BestEffort", Usage: 95 << 20}, {Pod: fact.Pod{Namespace: "shop", Name: "db-0"}, QoS: "Burstable", Usage: 80 << 20, Request: 64 << 20},
	}}, pressed)
	add(323, "", fact.SetPhase{Phase: v1.PodFailed}, evict)
	add(330, "", fact.DeletionSeen{GraceSeconds: 30, By: "ada@example.com"})

	var file bytes.Buffer
	if _, err := journal.Export(&file, journal.Header{Node: "vm"}, func(yield func(fact.Fact, error) bool) {
		for _, f := range all {
			if !yield(f, nil) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	source, err := journal.NewFile(&file)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

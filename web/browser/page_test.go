package browser

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/web"
	"whylet.dev/whylet/web/timeline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/serve"
)

// Every recorded history opens from disk without a network, says what a terminal says,
// and complains of nothing.
func TestRecordedPages(t *testing.T) {
	files, err := filepath.Glob("../../why/serve/testdata/*.facts")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded histories:", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".facts")
		t.Run(name, func(t *testing.T) {
			d, a := recorded(t, name)
			b := open(t, 1280, 900)
			b.show(d)
			got := b.text(".answers")
			for _, r := range a.Rows(false) {
				if !strings.Contains(got, strings.Join(strings.Fields(r.Text), " ")) {
					t.Errorf("the page does not say %q:\n%s", r.Text, got)
				}
			}
			if lanes := eval[int](b, "document.querySelectorAll('.group canvas').length"); lanes < 2 {
				t.Errorf("%d groups of lanes", lanes)
			}
			b.calm()
		})
	}
}

// A sentence leads to its marks, a mark to its fact, and a fact to what it rests on.
func TestFromAnswerToFact(t *testing.T) {
	d, _ := recorded(t, "slow-handler")
	b := open(t, 1280, 1000)
	b.show(d)
	drawn := func() int {
		return len(eval[string](b, "document.querySelector('.arrows .strong').getAttribute('d') ?? ''"))
	}
	if drawn() == 0 {
		t.Error("the verdict's chain is not drawn")
	}
	b.do(chromedp.Click(chromedp.Search("//button[contains(., 'the node ends it')]")), chromedp.WaitVisible(chromedp.CSS(".detail .facts")))
	if got := b.text(".detail"); !strings.Contains(got, "rests on") || !strings.Contains(got, "liveness probe failed") || !strings.Contains(got, "whylet journal show") {
		t.Error("the details of a kill:", got)
	}
	if drawn() == 0 {
		t.Error("what the kill rests on is not drawn")
	}
	b.do(chromedp.Click(chromedp.CSS(".detail .facts button")))
	if got := b.text(".detail h2"); !strings.Contains(got, "liveness probe failed") {
		t.Error("what it rests on leads to:", got)
	}
	b.do(chromedp.Click(chromedp.CSS(".detail .raw summary")), chromedp.WaitVisible(chromedp.CSS(".detail .raw pre")))
	if got := b.text(".detail .raw pre"); !strings.Contains(got, `"kind": "Probed"`) {
		t.Error("the fact as it was recorded:", got)
	}
	b.calm()
}

// Everything can be reached without a pointer, and what is chosen is said aloud.
func TestKeyboard(t *testing.T) {
	d, _ := recorded(t, "oom-main")
	b := open(t, 1280, 900)
	b.show(d)
	for i := 0; eval[string](b, "document.activeElement.className") != "groups"; i++ {
		if i > 40 {
			t.Fatal("Tab does not come to the timeline")
		}
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	said := func() string { return b.text("[role=status][aria-live]") }
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	first := said()
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	second := said()
	if first == "" || second == "" {
		t.Errorf("nothing is said of %q, %q", first, second)
	}
	for range 12 { // down to the memory, whatever is between
		if strings.Contains(said(), "OOM-killed") {
			break
		}
		b.do(chromedp.KeyEvent(kb.ArrowDown))
	}
	if !strings.Contains(said(), "OOM-killed") {
		t.Error("the arrow keys do not come to the OOM kill, but to", said())
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until("document.activeElement.closest('.detail') && document.activeElement.textContent.includes('OOM-killed')")
	b.do(chromedp.Focus(chromedp.CSS(".groups")), chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("+"), chromedp.KeyEvent("0"), chromedp.KeyEvent("t"))
	if b.text("[role=status][aria-live]") != "" {
		t.Error("Escape lets nothing go")
	}
	b.calm()
}

// Each lane is a table, too.
func TestTables(t *testing.T) {
	d, _ := recorded(t, "slow-handler")
	b := open(t, 1280, 900)
	b.show(d)
	eval[any](b, "document.querySelectorAll('.tables details').forEach(d => { d.open = true })")
	b.do(chromedp.WaitVisible(chromedp.CSS(".tables table")))
	lanes, marks := 0, 0
	for _, p := range d.Pods {
		for _, l := range p.Lanes {
			lanes++
			marks += len(l.Marks)
		}
	}
	b.until(fmt.Sprintf("document.querySelectorAll('.tables td button').length == %d", marks))
	if got := eval[int](b, "document.querySelectorAll('.tables details').length"); got != lanes {
		t.Errorf("%d tables of %d lanes", got, lanes)
	}
	b.calm()
}

// The sliders say what package whatif says, in a file, without a program behind it.
func TestWhatIf(t *testing.T) {
	d, _ := recorded(t, "slow-handler")
	b := open(t, 1280, 900)
	b.show(d)
	b.do(chromedp.Click(chromedp.CSS(".whatif .choice button")), chromedp.WaitVisible(chromedp.CSS(".sliders")))
	before := b.text(".outcome")
	b.do(chromedp.Focus(chromedp.CSS(".sliders input")), chromedp.KeyEvent(kb.End))
	after := b.text(".outcome")
	if before == after || !strings.Contains(after, "livenessProbe.timeoutSeconds=30") {
		t.Errorf("a longer timeout changes %q into %q", before, after)
	}
	b.calm()
}

// Several pods of a workload stand above each other on one clock, each with its own
// facts, though these have the same numbers.
func TestWorkload(t *testing.T) {
	d := workload(t)
	b := open(t, 1280, 900)
	b.show(d)
	if n := eval[int](b, "document.querySelectorAll('.podname').length"); n != 2 {
		t.Errorf("%d pods have a title", n)
	}
	for _, name := range []string{"p8b", "p10b"} {
		b.do(chromedp.Click(chromedp.Search(fmt.Sprintf("//article[contains(., '%s')]//button[contains(@class, 'link')][last()]", name))))
		if place := eval[string](b, "document.querySelector('.detail .raw pre').textContent"); !strings.Contains(place, `"name": "`+name+`"`) {
			t.Errorf("a line about %s leads to %s", name, place)
		}
	}
	b.calm()
}

// workload is the document of a deployment of two pods, whose histories are recorded ones.
func workload(t *testing.T) timeline.Document {
	t.Helper()
	var answers []answer.Answer
	var parts []timeline.PodInput
	for _, name := range []string{"slow-handler", "listener-gone"} {
		source, q := opened(t, name)
		a, err := serve.One(source, q)
		if err != nil {
			t.Fatal(err)
		}
		part, err := web.Pod(source, q, "vm")
		if err != nil {
			t.Fatal(err)
		}
		answers, parts = append(answers, a), append(parts, part)
	}
	a := cluster.WorkloadAnswer(cluster.Workload{Subject: answer.Subject{Kind: "Deployment", Namespace: "default", Name: "web"}, Wanted: 2}, answers, answers[1].AsOf)
	return web.Of(a, "kubectl why deployment/web", parts...)
}

// hostile is what a pod may log to take the page over.
const hostile = `</script><script>alert(1)</script><img src=x onerror=alert(2)>"'&lt;${alert(3)}` + "\u2028<!--\x1b[31m"

// What a pod says stays text, wherever it is shown.
func TestHostileWords(t *testing.T) {
	at := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	pod := fact.Pod{Namespace: "shop", Name: "web-1", UID: "u"}
	var facts []fact.Fact
	add := func(because []fact.ID, container string, body fact.Body) {
		at = at.Add(time.Second)
		facts = append(facts, fact.Fact{ID: fact.ID(len(facts) + 1), At: at, Seen: at, Pod: pod, Container: container, Because: because, Body: body})
	}
	add(nil, "app", fact.Started{ContainerID: "c://1"})
	add(nil, "app", fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure, Message: hostile, Evidence: &fact.Evidence{Handler: fact.HTTPGet, Target: hostile, Output: hostile}})
	add(nil, "app", fact.Exited{ContainerID: "c://1", ExitCode: 3, StatusKnown: true, OOMKnown: true, Message: hostile, LastLines: []string{hostile}})
	add([]fact.ID{3}, "app", fact.BackOff{What: "container", Delay: time.Minute, Until: at.Add(time.Minute), Message: hostile})
	var file bytes.Buffer
	if _, err := journal.Export(&file, journal.Header{Node: hostile}, func(yield func(fact.Fact, error) bool) {
		for _, f := range facts {
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
	d, _ := document(t, source, about(source))
	b := open(t, 1280, 900)
	b.show(d)
	eval[any](b, "document.querySelectorAll('details').forEach(d => { d.open = true })")
	b.do(chromedp.Click(chromedp.Search("//button[contains(., 'it ended with exit code 3')]")))
	if got := b.text(".detail h2"); !strings.Contains(got, "it ended") {
		t.Error("the end leads to", got)
	}
	b.do(chromedp.Focus(chromedp.CSS(".groups")))
	for range 12 {
		b.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowRight))
	}
	if got := eval[string](b, "document.body.textContent"); !strings.Contains(got, "onerror=alert(2)") {
		t.Error("what the pod said is not shown")
	}
	if n := eval[int](b, "document.querySelectorAll('img, iframe, object, script:not([id]):not(:last-of-type)').length"); n != 0 {
		t.Errorf("%d elements came out of a text", n)
	}
	b.calm()
}

package browser

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/web"
	"whylet.dev/whylet/web/timeline"
	"whylet.dev/whylet/why/answer"
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
			unsaid(t, d)
			if lanes := eval[int](b, "document.querySelectorAll('.group canvas').length"); lanes < 2 {
				t.Errorf("%d groups of lanes", lanes)
			}
			b.calm()
		})
	}
}

// unsaid complains of last words that are on no mark, and so would lead nowhere.
func unsaid(t *testing.T, d timeline.Document) {
	t.Helper()
	for _, r := range d.Rows {
		on := func(m timeline.Mark) bool { return strings.Contains(m.Text, cmp.Or(r.Line, r.Text)) }
		of := func(l timeline.Lane) bool { return l.ID == "words" && slices.ContainsFunc(l.Marks, on) }
		if r.Kind == answer.RowWords && !slices.ContainsFunc(d.Pods, func(p timeline.Pod) bool { return slices.ContainsFunc(p.Lanes, of) }) {
			t.Errorf("nobody said %+v", r)
		}
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
	if got := b.text(".detail"); !strings.Contains(got, "rests on") || !strings.Contains(got, "liveness probe timed out") || !strings.Contains(got, "whylet journal show") {
		t.Error("the details of a kill:", got)
	}
	if drawn() == 0 {
		t.Error("what the kill rests on is not drawn")
	}
	b.do(chromedp.Click(chromedp.CSS(".detail .facts button")))
	if got := b.text(".detail h2"); !strings.Contains(got, "liveness probe timed out") {
		t.Error("what it rests on leads to:", got)
	}
	b.do(chromedp.Click(chromedp.CSS(".detail .raw summary")), chromedp.WaitVisible(chromedp.CSS(".detail .raw pre")))
	if got := b.text(".detail .raw pre"); !strings.Contains(got, `"kind": "Probed"`) {
		t.Error("the fact as it was recorded:", got)
	}
	b.calm()
}

// beyond is a document of an answer that leads to another pod, and from there to a Service.
func beyond(t *testing.T) (timeline.Document, answer.Answer) {
	t.Helper()
	source, q := opened(t, "seed-002")
	_, a := document(t, source, q)
	at := a.AsOf.Add(-10 * time.Second)
	a.Verdicts[0].Hops = []answer.Hop{
		{Service: "shop/db", Pod: "shop/db-0", By: "container app says that db:5432 refused", Text: "The volume of db-0 is full.", Chain: []answer.Link{{At: at, Text: "no space left on device"}, {At: at.Add(time.Second), Text: "it ended with exit code 1"}}},
		{Service: "shop/cache", By: "db-0 waits for cache", Text: "It has no endpoints."},
	}
	d, err := web.FromJournal(source, q, a, "kubectl why pod/"+q.Name)
	if err != nil {
		t.Fatal(err)
	}
	return d, a
}

// What the answer leads to in other pods stands in it, with its times; and last words lead
// to who said them.
func TestBeyondThePod(t *testing.T) {
	d, a := beyond(t)
	at := a.Verdicts[0].Hops[0].Chain[0].At
	b := open(t, 1280, 1000)
	b.show(d)
	got := b.text(".part.hop")
	for _, r := range a.Rows(false) {
		if r.Kind == answer.RowHop && !strings.Contains(got, r.Text) {
			t.Errorf("the page does not say %q but %q", r.Text, got)
		}
	}
	if n := eval[int](b, "document.querySelectorAll('.hop time').length"); n != 2 || !strings.HasPrefix(got, "leads to") || !strings.Contains(got, "shop/db-0: container app says") || !strings.Contains(got, at.UTC().Format("15:04:05.000")) {
		t.Errorf("%d times in %q", n, got)
	}
	b.do(chromedp.Click(chromedp.CSS(".hop .link")), chromedp.Click(chromedp.CSS(".words .leads")), chromedp.WaitVisible(chromedp.CSS(".detail .said")))
	words := d.Rows[slices.IndexFunc(d.Rows, func(r answer.Row) bool { return r.Kind == answer.RowWords })]
	if said := b.text(".detail .said"); words.Line == "" || b.text(".words .leads") != words.Text || !strings.Contains(said, words.Line) {
		t.Errorf("%+v leads to %q", words, said)
	}
	b.calm()
}

// The saved file needs no network at all: it is drawn where there is none, not even this
// machine's own.
func TestWithoutNetwork(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("it takes chromium, and root to be without a network")
	}
	d, _ := recorded(t, "slow-handler")
	file := filepath.Join(t.TempDir(), "page.html")
	var page bytes.Buffer
	if err := web.Write(&page, d); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	drawn, err := exec.CommandContext(ctx, "unshare", "--net", chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(),
		"--virtual-time-budget=5000", "--dump-dom", "file://"+file).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`class="verdict"`, "<canvas", "the node ends it", "What if other settings"} {
		if !strings.Contains(string(drawn), want) {
			t.Errorf("the page does not show %q", want)
		}
	}
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
		if strings.Contains(said(), "OOMKilled") {
			break
		}
		b.do(chromedp.KeyEvent(kb.ArrowDown))
	}
	if !strings.Contains(said(), "OOMKilled") {
		t.Error("the arrow keys do not come to the OOM kill, but to", said())
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until("document.activeElement.closest('.detail') && document.activeElement.textContent.includes('OOMKilled')")
	b.do(chromedp.Focus(chromedp.CSS(".groups")), chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("+"), chromedp.KeyEvent("0"), chromedp.KeyEvent("t"))
	if b.text("[role=status][aria-live]") != "" {
		t.Error("Escape lets nothing go")
	}
	b.calm()
}

// Times are in UTC, the reader's own, or from the end of the trouble.
func TestClocks(t *testing.T) {
	d, a := recorded(t, "slow-handler")
	b := open(t, 1280, 900)
	call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kathmandu"})
	b.show(d)
	chain := a.Verdicts[0].Chain
	last := chain[len(chain)-1].At
	for clock, want := range map[string]string{
		"UTC": last.UTC().Format("15:04:05.000"), "Local": last.In(time.FixedZone("", 5*3600+45*60)).Format("15:04:05.000"), "Relative": "+0 ms",
	} {
		b.do(chromedp.Click(chromedp.Search("//div[@aria-label='Times']/button[contains(., '" + clock + "')]")))
		if got := eval[string](b, "[...document.querySelectorAll('.chain time')].pop().textContent"); got != want {
			t.Errorf("%s: %q, wanted %q", clock, got, want)
		}
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

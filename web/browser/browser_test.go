package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/web"
	"whylet.dev/whylet/web/timeline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/serve"
)

// patience bounds everything that a test waits for.
const patience = 60 * time.Second

var browser struct {
	once   sync.Once
	ctx    context.Context
	cancel context.CancelFunc
}

func TestMain(m *testing.M) {
	code := m.Run()
	if browser.cancel != nil {
		browser.cancel()
	}
	os.Exit(code)
}

// tab is a window of the one Chromium that all tests share.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu sync.Mutex
	// complaints are errors of the page, and asked what it wanted from elsewhere.
	complaints, asked []string
}

// step is something that is done in a tab.
type step = chromedp.Action[chromedp.Void]

func open(t *testing.T, width, height int64) *tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium on this machine; apt-get install chromium")
	}
	browser.once.Do(func() {
		dir, err := os.MkdirTemp("", "whylet-chromium-")
		if err != nil {
			t.Fatal(err)
		}
		// Nobody but this machine can be reached: what a page needs from elsewhere is missing.
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(dir), chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), chromedp.Flag("disable-quic", true),
			chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("font-render-hinting", "none"))
		ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, end := chromedp.NewContext(ctx)
		browser.ctx, browser.cancel = ctx, func() { end(); stop(); _ = os.RemoveAll(dir) }
		if err := chromedp.Do(ctx); err != nil {
			t.Fatal(err)
		}
	})
	ctx, end := chromedp.NewContext(browser.ctx)
	b := &tab{t: t}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	t.Cleanup(func() { cancel(); end() })
	b.ctx = ctx
	b.do(chromedp.EmulateViewport(width, height))
	return b
}

// hear notes what a good page never does: it complains, asks somebody, or opens a dialog.
func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *cdpruntime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
		b.complaints = append(b.complaints, text)
	case *log.EventEntryAdded:
		b.complaints = append(b.complaints, e.Entry.Text)
	case *page.EventJavascriptDialogOpening:
		b.complaints = append(b.complaints, "a dialog: "+e.Message)
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	}
}

func (b *tab) do(steps ...step) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// eval is the value of an expression.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// prefers sets what the reader's system asks for, such as prefers-color-scheme dark.
func (b *tab) prefers(name, value string) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: name, Value: value}}}); err != nil {
		b.t.Fatal(err)
	}
}

// until waits for a condition.
func (b *tab) until(expression string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(patience))); err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
}

// text is what stands in the first element that fits.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return strings.Join(strings.Fields(eval[string](b, fmt.Sprintf("document.querySelector(%s)?.textContent ?? ''", quoted(selector)))), " ")
}

func quoted(s string) string {
	raw, _ := json.Marshal(s) // a string cannot fail
	return string(raw)
}

// show opens a document from disk.
func (b *tab) show(d timeline.Document) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "page.html")
	var page bytes.Buffer
	if err := web.Write(&page, d); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.do(chromedp.Navigate("file://"+file), chromedp.WaitVisible(chromedp.CSS(".verdict")))
}

// calm says what a page complained of, and whom it asked but its own file.
func (b *tab) calm() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		b.t.Error("the page complains:", c)
	}
	for _, url := range b.asked {
		if !strings.HasPrefix(url, "file://") {
			b.t.Error("the page asks", url)
		}
	}
}

// recorded is the document and the answer of a history recorded from a real container.
func recorded(t *testing.T, name string) (timeline.Document, answer.Answer) {
	t.Helper()
	source, q := opened(t, name)
	return document(t, source, q)
}

// opened is a recorded history and the question about its pod.
func opened(t *testing.T, name string) (journal.Source, serve.Question) {
	t.Helper()
	source, err := journal.OpenFile(filepath.Join("..", "..", "why", "serve", "testdata", name+".facts"))
	if err != nil {
		t.Fatal(err)
	}
	return source, about(source)
}

// about asks about the pod of a history, as it was at its end.
func about(source journal.Source) serve.Question {
	q := serve.Question{}
	for _, p := range source.Pods() {
		if p.Pod.Name != "" {
			q.Namespace, q.Name = p.Pod.Namespace, p.Pod.Name
		}
	}
	q.Now = source.Stats().Last
	return q
}

func document(t *testing.T, source journal.Source, q serve.Question) (timeline.Document, answer.Answer) {
	t.Helper()
	a, err := serve.One(source, q)
	if err != nil {
		t.Fatal(err)
	}
	d, err := web.FromJournal(source, q, a, "kubectl why pod/"+q.Name)
	if err != nil {
		t.Fatal(err)
	}
	return d, a
}

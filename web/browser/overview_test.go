package browser

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"whylet.dev/whylet/web"
	"whylet.dev/whylet/why/answer"
)

// clusterServer serves what a front does: at one address what is not well, and the pages of
// these.
func clusterServer(t *testing.T, histories ...string) *httptest.Server {
	t.Helper()
	var all []answer.Answer
	pages := map[string]http.HandlerFunc{}
	for _, name := range histories {
		d, a := recorded(t, name)
		d.Page = "page"
		for i := range a.Verdicts { // the look is compared, and the words of answers change
			a.Verdicts[i].Text = "The main process of container c was OOM-killed: container c hit its memory limit of 24Mi."
		}
		all = append(all, a)
		pages[a.Subject.Name] = func(w http.ResponseWriter, _ *http.Request) { _ = web.Write(w, d) }
	}
	answer.WorstFirst(all)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if page := pages[r.URL.Query().Get("name")]; page != nil {
			page(w, r)
			return
		}
		_ = web.WriteOverview(w, web.Overview{AsOf: all[0].AsOf, Answers: append(all, answer.Answer{Well: 41})})
	}))
	t.Cleanup(server.Close)
	return server
}

// What is not well in a cluster, the worst first, leads to each pod's page, and that back.
func TestOverview(t *testing.T) {
	server := clusterServer(t, "oom-main", "emptydir-limit", "seed-000", "gate")
	for _, l := range []struct {
		name, scheme  string
		width, height int64
	}{{"overview-light", "light", 1280, 800}, {"overview-narrow-dark", "dark", 390, 900}} {
		t.Run(l.name, func(t *testing.T) {
			b := open(t, l.width, l.height)
			b.prefers("prefers-color-scheme", l.scheme)
			b.do(chromedp.Navigate(server.URL+"/page"), chromedp.WaitVisible(chromedp.CSS(".ill article")))
			if wide := eval[int64](b, "document.documentElement.scrollWidth"); wide > l.width {
				t.Errorf("the page is %d wide in a window of %d", wide, l.width)
			}
			b.still()
			shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			if b.sameFont() {
				compare(t, filepath.Join("testdata", l.name+".png"), shot)
			}
			b.accessible()
			if worst := b.text(".ill h2"); worst != "pod default/p1a" || !strings.Contains(b.text(".known"), "4 of 45 pods, the worst first.") {
				t.Errorf("%q comes first; %s", worst, b.text(".known"))
			}
			b.do(chromedp.Click(chromedp.CSS(".ill h2 a")), chromedp.WaitVisible(chromedp.CSS(".verdict .chain")))
			if who := b.text(".who"); who != "pod default/p1a" {
				t.Error("it leads to", who)
			}
			b.accessible()
			b.do(chromedp.Click(chromedp.CSS("nav a")), chromedp.WaitVisible(chromedp.CSS(".ill h1")))
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, c := range b.complaints {
				t.Error("the page complains:", c)
			}
			for _, url := range b.asked {
				if !strings.HasPrefix(url, server.URL+"/page") {
					t.Error("the page asks", url)
				}
			}
		})
	}
}

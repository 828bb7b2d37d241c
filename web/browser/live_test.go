package browser

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"whylet.dev/whylet/web"
	"whylet.dev/whylet/web/timeline"
	"whylet.dev/whylet/why/serve"
)

// The page that is served follows: what is new comes by itself, and what was chosen
// stays chosen.
func TestLive(t *testing.T) {
	source, q := opened(t, "oom-main")
	whole := q.Now
	early := whole.Add(-100 * time.Second)
	now := make(chan struct{})
	ask := func(context.Context) (timeline.Document, error) {
		q := q
		q.Now = early
		select {
		case <-now:
			q.Now = whole
		default:
		}
		a, err := serve.One(source, q)
		if err != nil {
			return timeline.Document{}, err
		}
		return web.FromJournal(source, q, a, "kubectl why pod/p1a")
	}
	ctx, cancel := context.WithCancel(t.Context())
	url, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- web.Serve(ctx, ask, func(at string) { url <- at }) }()
	b := open(t, 1280, 900)
	b.do(chromedp.Navigate(<-url), chromedp.WaitVisible(chromedp.CSS(".verdict")), chromedp.Focus(chromedp.CSS(".groups")), chromedp.KeyEvent(kb.ArrowRight))
	before, chosen := b.text("footer"), b.text(".detail h2")
	close(now)
	b.until("!document.querySelector('footer').textContent.includes(" + quoted(before[:40]) + ")")
	if got := b.text(".detail h2"); chosen == "" || got != chosen {
		t.Errorf("%q was chosen, and then %q", chosen, got)
	}
	b.do(chromedp.Click(chromedp.Search("//button[contains(., 'Live')]")))
	if got := eval[string](b, "document.querySelector('.tools [aria-pressed=false]:last-of-type')?.textContent ?? ''"); got == "" {
		t.Error("it cannot be stopped")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		t.Error("the page complains:", c)
	}
}

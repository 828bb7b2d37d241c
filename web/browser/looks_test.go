package browser

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"whylet.dev/whylet/web/timeline"
)

var rewrite = flag.Bool("rewrite", false, "take the screenshots in testdata anew; look at them")

// violation is what axe-core found.
type violation struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML           string
		FailureSummary string
	}
}

// accessible has axe-core look at the page.
func (b *tab) accessible() {
	b.t.Helper()
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		b.t.Fatal(err)
	}
	eval[any](b, string(axe)+"\n;null")
	eval[any](b, "axe.run().then(r => { window.found = JSON.stringify(r.violations) }); null")
	b.until("window.found !== undefined")
	var all []violation
	if err := json.Unmarshal([]byte(eval[string](b, "window.found")), &all); err != nil {
		b.t.Fatal(err)
	}
	for _, v := range all {
		if v.Impact == "serious" || v.Impact == "critical" {
			b.t.Errorf("%s (%s): %s\n%s\n%s", v.ID, v.Impact, v.Help, v.Nodes[0].HTML, v.Nodes[0].FailureSummary)
		}
	}
}

// all is a click for all the time there is.
var all = chromedp.Click(chromedp.Search("//div[@aria-label='View']/button[contains(., 'All')]"))

// looks are the pages that are looked at.
var looks = []struct {
	name, history, scheme string
	width, height         int64
	use                   []step
}{
	{"oom-light", "oom-main", "light", 1280, 900, nil},
	{"slow-light", "slow-handler", "light", 1280, 1000, nil},
	{"slow-dark", "slow-handler", "dark", 1280, 1000, []step{chromedp.Click(chromedp.Search("//button[contains(., 'the node ends it')]"))}},
	{"slow-whatif", "slow-handler", "light", 1280, 1000, []step{chromedp.Click(chromedp.CSS(".whatif .choice button"))}},
	{"evicted-light", "emptydir-limit", "light", 1280, 900, nil},
	{"lanes-light", "", "light", 1280, 1400, []step{all}},
	{"lanes-dark", "", "dark", 1280, 1400, []step{all}},
	{"pods-light", "pods", "light", 1280, 1000, nil},
	{"pods-narrow-dark", "pods", "dark", 390, 1000, nil},
	{"hops-light", "hops", "light", 1280, 900, nil},
	{"slow-narrow", "slow-handler", "light", 390, 1400, nil},
	{"oom-narrow-dark", "oom-main", "dark", 390, 1200, nil},
}

// Pages look as they did, are no wider than their window, and have nothing serious that
// axe-core knows of.
func TestLooks(t *testing.T) {
	for _, l := range looks {
		t.Run(l.name, func(t *testing.T) {
			d := looked(t, l.history)
			b := open(t, l.width, l.height)
			b.prefers("prefers-color-scheme", l.scheme)
			b.show(d)
			b.do(l.use...)
			if l.history == "" || l.history == "pods" { // words of an answer, which change more often, would move the lanes
				eval[any](b, "document.querySelector('.history').scrollIntoView(); null")
			}
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
			} else {
				t.Log("this machine's own font is not DejaVu Sans, so how the page looks is not compared")
			}
			b.accessible()
			b.calm()
		})
	}
}

// looked is what is looked at: a recorded history, one with all that there is, or a workload.
func looked(t *testing.T, history string) timeline.Document {
	t.Helper()
	switch history {
	case "":
		source := eventful(t)
		d, _ := document(t, source, about(source))
		return d
	case "hops":
		d, _ := beyond(t)
		return d
	case "pods":
		return workload(t, manyPods(t)[:6], 1)
	}
	d, _ := recorded(t, history)
	return d
}

// sameFont says whether pages have the font that the screenshots have.
func (b *tab) sameFont() bool {
	b.t.Helper()
	return eval[bool](b, `(() => {
		const c = document.createElement('canvas').getContext('2d')
		const wide = font => { c.font = '40px ' + font; return c.measureText('Restarted (exit code 137)').width }
		return wide('system-ui') === wide('"DejaVu Sans"') && wide('"DejaVu Sans"') !== wide('monospace')
	})()`)
}

// still waits until all is drawn.
func (b *tab) still() {
	b.t.Helper()
	eval[any](b, "window.drawn = false; requestAnimationFrame(() => requestAnimationFrame(() => { window.drawn = true })); null")
	b.until("window.drawn")
}

// mostOther is the share of pixels that may be another: fonts are not the same everywhere.
const mostOther = 0.04

func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	share, err := other(raw, got)
	if err != nil || share > mostOther {
		now := filepath.Join(os.TempDir(), "whylet-"+filepath.Base(file))
		_ = os.WriteFile(now, got, 0o644)
		t.Errorf("%s: %.1f %% of it looks other now (%v); see %s, then go test ./web/browser -rewrite", file, share*100, err, now)
	}
}

// other is the share of pixels of two pictures that are clearly not alike.
func other(a, b []byte) (float64, error) {
	x, err := png.Decode(bytes.NewReader(a))
	if err != nil {
		return 1, err
	}
	y, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		return 1, err
	}
	if x.Bounds() != y.Bounds() {
		return 1, fmt.Errorf("it has %v and not %v pixels", y.Bounds().Size(), x.Bounds().Size())
	}
	n, all := 0, 0
	for py := x.Bounds().Min.Y; py < x.Bounds().Max.Y; py++ {
		for px := x.Bounds().Min.X; px < x.Bounds().Max.X; px++ {
			all++
			if far(x, y, px, py) {
				n++
			}
		}
	}
	return float64(n) / float64(all), nil
}

func far(a, b image.Image, x, y int) bool {
	r, g, bl, _ := a.At(x, y).RGBA()
	r2, g2, b2, _ := b.At(x, y).RGBA()
	apart := func(m, n uint32) bool { return max(m, n)-min(m, n) > 64<<8 }
	return apart(r, r2) || apart(g, g2) || apart(bl, b2)
}

// pictures are those of docs/timeline.md.
var pictures = []struct {
	name, history, scheme string
	height                int64
	use                   func(*tab)
}{
	{"timeline", "slow-handler", "light", 1000, func(b *tab) {
		b.do(chromedp.Click(chromedp.Search("//button[contains(., 'the node ends it')]")))
	}},
	{"timeline-dark", "oom-main", "dark", 700, func(b *tab) {
		b.do(chromedp.Click(chromedp.Search("//div[@aria-label='View']/button[contains(., 'All')]")))
	}},
	{"timeline-whatif", "slow-handler", "light", 900, func(b *tab) {
		b.do(chromedp.Click(chromedp.CSS(".whatif .choice button")), chromedp.Focus(chromedp.CSS(".sliders label:nth-child(2) input")), chromedp.KeyEvent(kb.End),
			chromedp.Click(chromedp.Search("//div[@aria-label='View']/button[contains(., 'All')]")))
	}},
}

// TestPictures takes the pictures of docs/timeline.md anew when it is told to.
func TestPictures(t *testing.T) {
	if !*rewrite {
		t.Skip("make screenshots takes them")
	}
	for _, p := range pictures {
		b := open(t, 1280, p.height)
		b.prefers("prefers-color-scheme", p.scheme)
		d, _ := recorded(t, p.history)
		b.show(d)
		p.use(b)
		eval[any](b, "scrollTo(0, 0); document.activeElement.blur(); null")
		b.still()
		shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("..", "..", "docs", "images", p.name+".png"), shot, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// It prints, and moves nothing for who wants no movement.
func TestPrintAndMotion(t *testing.T) {
	d, _ := recorded(t, "oom-main")
	b := open(t, 1000, 800)
	b.prefers("prefers-reduced-motion", "reduce")
	b.show(d)
	if got := eval[string](b, "getComputedStyle(document.body).transitionDuration"); got != "0s" {
		t.Error("something moves:", got)
	}
	pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF())
	if err != nil || !strings.HasPrefix(string(pdf), "%PDF") {
		t.Error("it does not print:", err)
	}
	b.calm()
}

package web

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"whylet.dev/whylet/web/timeline"
)

// rendered is a document's page.
func rendered(t *testing.T, d timeline.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, d); err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("WHYLET_PAGES"); dir != "" { // to look at them
		_ = os.WriteFile(filepath.Join(dir, d.Subject.Name+".html"), b.Bytes(), 0o644)
	}
	return b.String()
}

// A page asks nobody for anything.
func TestPageStandsAlone(t *testing.T) {
	for _, name := range []string{"oom-main", "slow-handler", "emptydir-limit", "listener-gone"} {
		text := rendered(t, recorded(t, name))
		if !strings.Contains(text, `content="default-src &#39;none&#39;; script-src &#39;sha256-`) {
			t.Error("the page has another policy")
		}
		for _, asks := range regexp.MustCompile(`(?i)(src|href)\s*=\s*["'][^"']*["']|@import|url\(|\bimport\(`).FindAllString(text, -1) {
			t.Errorf("%s: the page may ask for %s", name, asks)
		}
	}
}

// Words on a canvas can be read as well as others, in light and dark, also where they are
// dim: axe-core sees no canvas.
func TestContrast(t *testing.T) {
	schemes := regexp.MustCompile(`(?s):root ?\{(.*?)\}`).FindAllStringSubmatch(style, 2)
	if len(schemes) != 2 {
		t.Fatalf("%d colour schemes", len(schemes))
	}
	for _, scheme := range schemes {
		colours := map[string][3]float64{}
		for _, c := range regexp.MustCompile(`--([a-z-]+): ?#([0-9a-f]+)`).FindAllStringSubmatch(scheme[1], -1) {
			colours[c[1]] = rgb(t, c[2])
		}
		check := func(name string, words, ground [3]float64) {
			if r := contrast(words, ground); r < 4.5 {
				t.Errorf("%s: %.2f", name, r)
			}
		}
		for _, tone := range []string{"good", "bad", "warn", "calm", "plain"} {
			fill := colours[tone+"-fill"]
			check("words on "+tone, colours["fg"], fill)
			var dim [3]float64
			for i := range dim {
				dim[i] = (fill[i] + colours["paper"][i]) / 2
			}
			check("dim words on "+tone, colours["muted"], dim)
			check(tone+" words", colours[tone], colours["paper"])
		}
		check("dim words", colours["muted"], colours["paper"])
		check("dim words beside", colours["muted"], colours["raised"])
	}
}

func rgb(t *testing.T, hex string) (c [3]float64) {
	t.Helper()
	if len(hex) == 3 {
		hex = hex[:1] + hex[:1] + hex[1:2] + hex[1:2] + hex[2:] + hex[2:]
	}
	for i := range c {
		v, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c[i] = float64(v) / 255
	}
	return c
}

// contrast is that of WCAG 2, from 1 to 21.
func contrast(a, b [3]float64) float64 {
	light := func(c [3]float64) float64 {
		for i, v := range c {
			if c[i] = v / 12.92; v > 0.04045 {
				c[i] = math.Pow((v+0.055)/1.055, 2.4)
			}
		}
		return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2]
	}
	x, y := light(a), light(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

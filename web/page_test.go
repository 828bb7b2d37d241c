package web

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
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

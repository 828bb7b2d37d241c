package door_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// browse opens the pages in a real Chromium, whose user gives the token as a password.
func browse(t *testing.T, c caller) {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Log("there is no chromium on this machine; apt-get install chromium")
		return
	}
	for path, wants := range map[string][]string{
		"/page?namespace=shop":                     {"1 of ", `<a href="page?kind=pod&amp;name=web-1&amp;namespace=shop">pod shop/web-1</a>`, "container-memory-limit"},
		"/page?kind=pod&name=web-1&namespace=shop": {`class="verdict"`, "<canvas", "OOM-killed", `<a href="page?namespace=shop">`},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		drawn, err := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(), "--ignore-certificate-errors",
			"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--virtual-time-budget=5000", "--dump-dom",
			strings.Replace(c.server.URL, "https://", "https://me:"+c.token+"@", 1)+path).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(drawn), want) {
				t.Errorf("%s does not show %q: %.2000s", path, want, drawn)
			}
		}
	}
}

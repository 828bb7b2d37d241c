package answer

import (
	"strings"
	"testing"
	"time"
)

// What a verdict that leads to another pod says, it says once: first what is wrong there,
// then what comes of it here, and below how the one leads to the other.
func TestAChainIsToldOnce(t *testing.T) {
	at := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	a := New(Subject{Kind: "Pod", Namespace: "shop", Name: "web-1"}, at, Coverage{Complete: true})
	v := Verdict{Cause: AppExitError, Certainty: Inferred, Rule: "another-pod", Pod: "shop/db-0"}
	v.Hops = []Hop{
		{Pod: "shop/api-0", By: "container web asks shop/api-0 (502)", Cause: AppUnhealthy, Text: "It looks well."},
		{Pod: "shop/db-0", By: "container api asks shop/db-0 (refused)", Cause: AppExitError, Text: "It ended with exit code 1.", Chain: []Link{{At: at, Text: "it ended with exit code 1"}}},
	}
	v.Contributing = []Note{{Cause: DependencyDown, Text: "It cannot reach api"}, {Cause: AppIgnoredSIGTERM, Text: "it did not end in time"}}
	v.Say(Parts{
		What: "The reason is pod shop/db-0: It ended with exit code 1.", Because: []string{"Container web asks shop/api-0 (502).", "Container api asks shop/db-0 (refused)."},
		Then: []string{"It cannot reach api.", "So it gets no traffic."},
	})
	a.Put(Symptom{Kind: NotReady}, v)
	for _, wide := range []bool{false, true} {
		text := a.Text(Style{Wide: wide})
		for _, once := range []string{"It ended with exit code 1.", "It cannot reach api", "asks shop/api-0 (502)", "asks shop/db-0 (refused)", "It looks well.", "03:00:00.000", "it did not end in time"} {
			if n := strings.Count(text, once); n != 1 {
				t.Errorf("%d times %q in\n%s", n, once, text)
			}
		}
		if !strings.Contains(text, "exit code 1.\n  It cannot reach api. So it gets no traffic.\n  cause: ") {
			t.Errorf("what comes of it is no sentence of its own:\n%s", text)
		}
	}
}

// What the sentence at the top quotes stands once: what leads to a pod and the last words leave it
// out, and nothing else. Wide, the last words are whole.
func TestAQuoteStandsOnce(t *testing.T) {
	at := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	a := New(Subject{Kind: "Pod", Namespace: "shop", Name: "web-1"}, at, Coverage{Complete: true})
	const quote, other = "upstream timed out (110: Connection timed out) while reading", "no live upstreams while connecting"
	v := Verdict{Cause: AppHang, Certainty: Inferred, Rule: "another-pod", Pod: "shop/db-0"}
	v.Hops = []Hop{
		{Pod: "shop/api-0", By: "container web asks Service shop/api, which leads to shop/api-0 (" + quote + ")", Cause: AppHang, Text: "It looks well."},
		{Pod: "shop/db-0", By: "container api asks shop/db-0 (" + quote + ", and there are connections between them)", Cause: AppHang, Text: "It hangs."},
	}
	v.LastWords = []string{"2026/11/23 03:00:00 [error] 6#6: *9 " + quote, "2026/11/23 03:00:00 [error] 6#6: *9 " + other}
	v.Say(Parts{What: "The reason is pod shop/db-0: It hangs.", Because: []string{"Container web asks shop/api-0 (" + quote + ")."}, Then: []string{"Container web says: [error] " + quote + "."}})
	a.Put(Symptom{Kind: NotReady}, v)
	text := a.Text(Style{})
	for _, want := range []string{"shop/api-0: container web asks Service shop/api, which leads to it. It looks well.", "db-0 (upstream timed out", "last log    2026/11/23 03:00:00 [error] 6#6: *9 " + other} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "*9 "); n != 1 {
		t.Errorf("%d last words in\n%s", n, text)
	}
	if wide := a.Text(Style{Wide: true}); strings.Count(wide, "*9 ") != 2 {
		t.Errorf("last words are missing in\n%s", wide)
	}
}

// One error in other words is one error: in a log, an answer and what led to a pod.
func TestRepeats(t *testing.T) {
	said := `Container api fails: database: connection to server at "db" (10.43.8.156), port 5432 failed: Connection refused Is the server running?, status: DOWN.`
	for quote, want := range map[string]bool{
		`ERROR in app: database check failed: connection to server at "db" (10.43.8.156), port 5432 failed: Connection refused`: true,
		`{"database":"connection to server at \"db\" (10.43.8.156), port 5432 failed: Connection refused"}`:                     true,
		"Connection refused": false, // too short to tell
		"ERROR in app: cannot read its configuration: no such file or directory":        false,
		"FATAL: password authentication failed for user shop, port 5432 failed: Connec": false,
	} {
		if repeats(said, quote) != want {
			t.Errorf("%s: %v", quote, !want)
		}
	}
	by := `container api asks Service shop/db, which leads to shop/db-0 (ERROR in app: connection to server at "db" (10.43.8.156), port 5432 failed: Connection refused)`
	if got := ledTo(Hop{Pod: "shop/db-0", By: by}, said); got != "container api asks Service shop/db, which leads to it" {
		t.Error(got)
	}
	by = `container api asks shop/db-0 (ERROR: cannot write what it read from (10.43.8.156) to /data/in: disk full)`
	if got := ledTo(Hop{Pod: "shop/db-0", By: by}, said); got != by {
		t.Error(got)
	}
}

// A last line that is long is shown without what a logger put around it, and comes whole with what
// is shown, so that it can be found among what was logged; one that is shown as it is, comes once.
func TestWordsAreFound(t *testing.T) {
	const plain = "2026/11/23 03:00:00 [notice] 1#1: exit"
	long := `2026/11/23 03:00:00 [error] 6#6: *9 open() "/usr/share/nginx/html/index.html" failed (2: No such file or directory), client: 10.42.0.1, server: localhost`
	rows := wordRows([]string{long, plain}, "", false)
	if rows[0].Text != `[error] open() "/usr/share/nginx/html/index.html" failed (2: No such file or directory)` || rows[0].Line != long {
		t.Errorf("%+v", rows[0])
	}
	if rows[1].Text != plain || rows[1].Line != "" {
		t.Errorf("%+v", rows[1])
	}
}

// Wide, a last line of a log is whole.
func TestWideWordsAreWhole(t *testing.T) {
	line := "2026/11/23 03:00:00 [error] 6#6: *9 open() " + strings.Repeat("/a-long-folder", 14) + " failed (2: No such file or directory)"
	if rows := wordRows([]string{line, "a bell\a"}, "", true); len(rows) != 2 || rows[0].Text != line || rows[1].Text != "a bell" {
		t.Errorf("%+v", rows)
	}
	if rows := wordRows([]string{line}, "", false); len([]rune(rows[0].Text)) > 2*wordsLong || !strings.HasSuffix(rows[0].Text, "No such file or directory)") {
		t.Errorf("%+v", rows)
	}
}

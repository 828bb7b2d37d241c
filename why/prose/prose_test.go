package prose

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "whylet.dev/whylet/test/fixedseed"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                       "0.0 ms",
		1500 * time.Microsecond: "1.5 ms",
		-40 * time.Millisecond:  "40 ms",
		2 * time.Second:         "2 s",
		2500 * time.Millisecond: "2.5 s",
		90 * time.Second:        "90 s",
		5 * time.Minute:         "5 min",
		3 * time.Hour:           "3 h",
		72 * time.Hour:          "3 days",
	} {
		if got := Span(d); got != want {
			t.Errorf("Span(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestTimes(t *testing.T) {
	for n, want := range map[int]string{1: "once", 2: "twice", 3: "3 times"} {
		if got := Times(n); got != want {
			t.Errorf("Times(%d) = %q, want %q", n, got, want)
		}
	}
}

// Wrapping loses and reorders no word, and only a word longer than the line is
// alone on one that is too long.
func TestWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zä ]{0,80}`).Draw(t, "text")
		most := rapid.IntRange(1, 30).Draw(t, "most")
		lines := Wrap(text, most)
		if got, want := strings.Fields(strings.Join(lines, " ")), strings.Fields(text); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Fatalf("words %q became %q", want, got)
		}
		for _, line := range lines {
			if len([]rune(line)) > most && strings.Contains(line, " ") {
				t.Fatalf("line %q is longer than %d", line, most)
			}
		}
	})
}

// What is cut out of a text's midst leaves its beginning and its end, whole words where it has any.
func TestMidst(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"short enough", 12, "short enough"},
		{"could not resize shared memory segment: No space left on device", 40, "could not resize … left on device"},
		{"(the vhost is made by the job broker-setup)", 30, "(the vhost is … broker-setup)"},
		{"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", 21, "abcdefghij…qrstuvwxyz"},
		{"two\nlines\tand a bell\a of which the end tells", 24, "two lines … end tells"},
	} {
		if got := Midst(tt.text, tt.most); got != tt.want {
			t.Errorf("%q is cut to %q, not %q", tt.text, got, tt.want)
		}
		if got := Midst(tt.text, tt.most); len([]rune(got)) > tt.most {
			t.Errorf("%q is longer than %d", got, tt.most)
		}
	}
}

// Of an error that others wrapped in theirs the reason at its end stays.
func TestWrapped(t *testing.T) {
	pull := `failed to pull and unpack image "registry.example/team/web:1": failed to resolve reference "registry.example/team/web:1": failed to do request: Head "https://registry.example/v2/team/web/manifests/1": dial tcp: lookup registry.example on 10.96.0.10:53: no such host`
	for text, want := range map[string]string{
		"short: as it is": "short: as it is",
		pull:              `failed to pull and unpack image "registry.example/team/web:1": … no such host`,
		"one that is long and has no reason behind a colon, so that its beginning tells most of what there is to say about it": "one that is long and has no reason behind a colon, so that its beginning tells most of what…",
	} {
		if got := Wrapped(text, 92); got != want && !(text == pull && strings.HasSuffix(got, "no such host") && len([]rune(got)) <= 92) {
			t.Errorf("%q", got)
		}
	}
	if got := Last(pull, 80); got != "dial tcp: lookup registry.example on 10.96.0.10:53: no such host" {
		t.Errorf("%q", got)
	}
}

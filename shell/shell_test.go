package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestQuote(t *testing.T) {
	for want, words := range map[string][]string{
		`sh -c 'celery inspect ping -d celery@$HOSTNAME'`: {"sh", "-c", "celery inspect ping -d celery@$HOSTNAME"},
		`echo 'it'\''s' ''`:    {"echo", "it's", ""},
		"/bin/check --port=80": {"/bin/check", "--port=80"},
		"'=ls' a=b":            {"=ls", "a=b"},
	} {
		if got := Quote(words...); got != want {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
}

// hostile are names that a shell, or the program that it starts, takes for more than a name.
var hostile = []string{
	"$(touch pwned)", "`touch pwned`", "a;touch pwned", "a&touch pwned", "a|touch pwned", "a>pwned", "a\ntouch pwned", "a\rtouch pwned", "a'$(touch pwned)'b", `a"$(touch pwned)"b`,
	"'; touch pwned; '", `\'; touch pwned; \'`, "~root", "*", "?", "[a-z]*", "{a,b}", "#a", "!!", "$HOME", "a b", "", "=ls", "--kubeconfig=/tmp/pwned", "-A", "--", "\x1b]0;a\x07", "\u202e", "ü",
	"registry.example/app:1.2@sha256:0123", "/healthz?full=1&x=$(touch pwned)",
}

// A shell makes of a hostile name one word, that name: without what would be an option, and without control characters.
func TestLinefHoldsHostileNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range hostile {
		line := string(Linef("printf '%%s|' %s x=%s end", name, name))
		run := exec.Command("sh", "-c", line)
		run.Dir = dir
		out, err := run.CombinedOutput()
		word := strings.Map(printable, strings.TrimLeft(name, "-"))
		if want := word + "|x=" + word + "|end|"; err != nil || string(out) != want {
			t.Errorf("%q: %s gives %q (%v), want %q", name, line, out, err, want)
		}
		if strings.ContainsAny(line, "\r\n\x1b") {
			t.Errorf("%q: %q holds control characters", name, line)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("a name was run")
	}
}

// What needs no quotes has none, and a line that is quoted is not quoted once more.
func TestLinefKeepsPlainWords(t *testing.T) {
	got := string(Linef("kubectl -n %s logs %s -c %s%s --tail=%d", "shop", "web-1", "app", Line(" -p"), 20))
	if want := "kubectl -n shop logs web-1 -c app -p --tail=20"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := string(Linef("get configmap %s", Words("a", "b c"))), "get configmap a 'b c'"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

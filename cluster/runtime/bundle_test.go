package runtime

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestUnpackHelpers unpacks what deploy/bundle packs.
func TestUnpackHelpers(t *testing.T) {
	dir := t.TempDir()
	program, helpers := filepath.Join(dir, "program"), filepath.Join(dir, "helpers")
	write := func(file, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(program, "\x7fELF a program")
	write(filepath.Join(helpers, "runc"), "runc's code")
	write(filepath.Join(helpers, "cni", "podnet"), "podnet's code")
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	for _, out := range []string{one, two} {
		cmd := exec.CommandContext(t.Context(), "go", "run", "whylet.dev/whylet/deploy/bundle", "-out", out, program, helpers)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
	}
	a, _ := os.ReadFile(one)
	b, _ := os.ReadFile(two)
	if len(a) == 0 || !bytes.Equal(a, b) {
		t.Error("two bundles of the same differ")
	}
	to := filepath.Join(dir, "data", "libexec")
	check := func(why string) {
		t.Helper()
		if found, err := unpackHelpers(one, to); !found || err != nil {
			t.Fatalf("%s: %v, %v", why, found, err)
		}
		got, err := os.ReadFile(filepath.Join(to, "cni", "podnet"))
		if err != nil || string(got) != "podnet's code" {
			t.Errorf("%s: %q, %v", why, got, err)
		}
	}
	check("first")
	before, err := os.Stat(filepath.Join(to, "runc"))
	if err != nil || before.Mode().Perm() != 0o755 {
		t.Fatal(before, err)
	}
	write(filepath.Join(to, "cni", "podnet"), "somebody else's code")
	check("changed")
	if after, err := os.Stat(filepath.Join(to, "runc")); err != nil || !os.SameFile(before, after) {
		t.Errorf("what is as it should be was written again: %v", err)
	}
	if found, err := unpackHelpers(program, to); found || err != nil {
		t.Errorf("a program without helpers: %v, %v", found, err)
	}
}

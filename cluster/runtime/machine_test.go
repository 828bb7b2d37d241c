package runtime

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Where the capability is there a process spares itself, and where it is not the
// kernel says so and nothing changes. A process of its own tries it: what this one
// starts later must not inherit it.
func TestSpare(t *testing.T) {
	const inner = "WHYLET_TEST_SPARE"
	if os.Getenv(inner) != "" {
		spare := Spare()
		score, err := os.ReadFile("/proc/self/oom_score_adj")
		if err != nil {
			t.Fatal(err)
		}
		if lower, err := CanLowerOOMScore(); err != nil || lower != (spare == nil) {
			t.Errorf("it may lower its score: %v, %v; it did: %v", lower, err, spare)
		}
		if is := strings.TrimSpace(string(score)); (is == "-999") != (spare == nil) {
			t.Errorf("the score is %s after %v", is, spare)
		}
		return
	}
	if now, err := os.ReadFile("/proc/self/oom_score_adj"); err != nil || strings.HasPrefix(string(now), "-999") {
		t.Skipf("the score is %s already, %v", now, err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestSpare$", "-test.v")
	cmd.Env = append(os.Environ(), inner+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestClosed(t *testing.T) {
	home := t.TempDir()
	data := filepath.Join(home, "data", "node")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]bool{0o700: true, 0o711: false, 0o750: true} {
		if err := os.Chmod(home, mode); err != nil {
			t.Fatal(err)
		}
		if got := closed(data) == home; got != want {
			t.Errorf("under a home of mode %o: %q is closed", mode, closed(data))
		}
	}
}

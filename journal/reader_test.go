package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDirBelow: --data-dir means the same folder to all programs.
func TestDirBelow(t *testing.T) {
	for _, below := range []string{"journal", "node/journal"} {
		dir := t.TempDir()
		want := filepath.Join(dir, below)
		if err := os.MkdirAll(want, 0o700); err != nil {
			t.Fatal(err)
		}
		if got := DirBelow(dir); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	dir := filepath.Join(t.TempDir(), "none")
	if _, err := OpenBelow(dir); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), dir+" has no journal") {
		t.Error(err)
	}
}

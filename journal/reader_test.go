package journal

import (
	"os"
	"path/filepath"
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
}

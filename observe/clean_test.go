package observe

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestClean(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "whylet-observe")
	if err := os.MkdirAll(filepath.Join(JournalDir(dir), "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ReadyFile(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time there is nothing
		if err := Clean(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the directory is there still: %v", err)
		}
	}
}

func TestCleanLeavesWhatIsNotOurs(t *testing.T) {
	dir := t.TempDir()
	letter := filepath.Join(dir, "letter.txt")
	if err := os.WriteFile(letter, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Clean(dir); err == nil {
		t.Error("nothing was said")
	}
	if _, err := os.Stat(letter); err != nil {
		t.Error(err)
	}
}

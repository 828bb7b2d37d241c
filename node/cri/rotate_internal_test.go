package cri

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTidyRotated(t *testing.T) {
	// A folder whose name means something to a glob.
	dir := filepath.Join(t.TempDir(), "odd[1]*")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "0.log")
	for _, name := range []string{
		"0.log", "0.log.20260101-000000.gz", "0.log.20260102-000000.gz", "0.log.20260103-000000",
		"0.log.20260104-000000", "0.log.20260104-000000.gz", // compressed, the plain one not yet removed
		"0.log.20260105-000000.tmp", // an interrupted compression
		"1.log.20260101-000000",     // another run's
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := tidyRotated(log, 3); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"0.log", "0.log.20260102-000000.gz", "0.log.20260103-000000.gz", "0.log.20260104-000000.gz", "1.log.20260101-000000",
	}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("left %q, want %q", got, want)
	}
	if err := removeLogs(log); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"1.log.20260101-000000"}) {
		t.Errorf("left %q", got)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

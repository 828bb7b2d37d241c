package cluster

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What is reserved is there for a file that grows, and its length stays.
func TestReserve(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(file, []byte("page"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := reserve(file, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	// As the database grows: longer first, then written.
	if err := os.Truncate(file, 64<<10); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() != 64<<10 {
		t.Errorf("the file has %d bytes", info.Size())
	}
	if held := info.Sys().(*syscall.Stat_t).Blocks * 512; held < 1<<20 {
		t.Skipf("this file system reserves nothing: %d bytes are held", held)
	}
}

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A machine without a hosts file is refused with what mends it: no pod would start.
func TestCheckHosts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosts")
	if f := checkHosts(file); len(f) != 1 || f[0].Verdict != missing || f[0].Fix == "" {
		t.Errorf("without the file: %+v", f)
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if f := checkHosts(file); len(f) != 0 {
		t.Errorf("with it: %+v", f)
	}
}

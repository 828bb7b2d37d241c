package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A machine without a hosts file gets one, as no pod would start, and keeps what it has.
func TestHosts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "etc", "hosts")
	if f := checkHosts(file); len(f) != 1 || f[0].Verdict != found {
		t.Errorf("without the file: %+v", f)
	}
	for _, want := range []string{"127.0.0.1 localhost\n::1 localhost\n", "192.0.2.1 mine\n"} {
		if err := ensureHosts(file); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("it holds %q, %v", got, err)
		}
		if err := os.WriteFile(file, []byte("192.0.2.1 mine\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if f := checkHosts(file); len(f) != 0 {
		t.Errorf("with it: %+v", f)
	}
}

package observe

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestReachable: a runtime's socket is taken below the first root that has it, and nothing is
// that is no socket.
func TestReachable(t *testing.T) {
	dir, err := os.MkdirTemp("", "sock") // t.TempDir's path is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	first, second := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, root := range []string{first, second} {
		if err := os.MkdirAll(filepath.Join(root, "run"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(first, "run", "cri.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(second, "run", "cri.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want := "unix://" + second + "/run/cri.sock"
	for endpoint, want := range map[string]string{"unix:///run/cri.sock": want, "/run/cri.sock": want, "unix:///run/none.sock": "", "": ""} {
		if got := reachable(endpoint, first, second); got != want {
			t.Errorf("%q: %q, want %q", endpoint, got, want)
		}
	}
	if got := findRuntime("unix:///run/none-such.sock"); got != "unix:///run/none-such.sock" {
		t.Errorf("what was named is %q", got) // so that the error is about it
	}
}

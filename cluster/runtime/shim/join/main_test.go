package main

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"whylet.dev/whylet/cluster/runtime/shim/group"
)

// Only a start is asked for at a door; all else is the shim's program's.
func TestWanted(t *testing.T) {
	door := group.Door("/run/w/containerd.sock", "k8s.io", group.Of("4f5e"))
	for line, want := range map[string]string{
		"shim -namespace k8s.io -address /run/w/containerd.sock -publish-binary /whylet -id 4f5e start":               door,
		"shim -namespace k8s.io -address /run/w/containerd.sock -publish-binary /whylet -id 4f5e -bundle /b delete":   "",
		"shim -namespace k8s.io -address /run/w/containerd.sock -publish-binary /whylet -id 4f5e -debug start":        "",
		"shim -namespace k8s.io -address /run/w/containerd.sock -publish-binary /whylet -id 4f5e start and something": "",
		"shim -namespace k8s.io -address /run/w/containerd.sock start":                                                "",
		"shim -info": "", "shim start": "", "shim -v": "", "shim -id": "", "shim": "",
	} {
		if got := wanted(strings.Fields(line)); got != want {
			t.Errorf("%s: %q, not %q", line, got, want)
		}
	}
	if got := wanted(nil); got != "" {
		t.Errorf("no arguments: %q", got)
	}
}

// A shim that closes without a word, one that has ended and one that never was are all the same.
func TestAsk(t *testing.T) {
	door := filepath.Join(t.TempDir(), "door")
	if got := ask(door); got != nil {
		t.Errorf("no door: %q", got)
	}
	long := strings.Repeat("an answer ", 1000)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: door, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for _, answer := range []string{long, ""} {
			conn, err := listener.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := conn.Write([]byte(answer)); err != nil {
				t.Error(err)
			}
			conn.Close()
		}
	}()
	if got := string(ask(door)); got != long {
		t.Errorf("%d bytes of the answer arrived, not %d", len(got), len(long))
	}
	if got := ask(door); len(got) != 0 {
		t.Errorf("no word: %q", got)
	}
	<-served
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if got := ask(door); got != nil {
		t.Errorf("a closed door: %q", got)
	}
}

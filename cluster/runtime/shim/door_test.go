package main

import (
	"io"
	"net"
	"path/filepath"
	"testing"
)

// Who is answered at the door has a shim that stays for it; an ending one is silent.
func TestDoor(t *testing.T) {
	s := newShimUnderTest()
	door := filepath.Join(t.TempDir(), "door")
	listener, err := net.Listen("unix", door)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.keepDoor(listener, []byte("here"))
	}()
	knock := func(want string) {
		t.Helper()
		conn, err := net.Dial("unix", door)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if got, err := io.ReadAll(conn); err != nil || string(got) != want {
			t.Errorf("%q is answered, not %q: %v", got, want, err)
		}
	}
	s.mu.Lock()
	s.clock.fire = nil
	s.mu.Unlock()
	knock("here")
	s.mu.Lock()
	fire := s.clock.fire
	s.mu.Unlock()
	if fire == nil {
		t.Fatal("the time to the end did not start anew")
	}
	fire()
	knock("")
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	<-closed
}

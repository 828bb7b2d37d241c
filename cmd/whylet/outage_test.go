package main

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"whylet.dev/whylet/cluster"
)

// Another process can read what one does, while it does it.
func TestDoing(t *testing.T) {
	var d doing
	if text := doingOf(os.Getpid()); text != "" {
		t.Errorf("it says %q before anybody did", text)
	}
	for _, text := range []string{"waiting for room on the disk", "starting", ""} {
		d.say(text)
		if got := doingOf(os.Getpid()); got != text {
			t.Errorf("it says %q, want %q", got, text)
		}
	}
	if err := d.file.Close(); err != nil {
		t.Error(err)
	}
}

// Only the want of room is waited out.
func TestOutlastOther(t *testing.T) {
	s := &stack{dataDir: t.TempDir()}
	for _, err := range []error{errors.New("the API server ended"), &cluster.DatabaseError{Doing: "failed to read", Err: syscall.EIO}} {
		if got := s.outlast(t.Context(), err); !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
}
